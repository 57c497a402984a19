"""Attention by cuDNN, which PyTorch calls where it is installed: what kernels of attention are compared with."""

import math
from collections.abc import Callable
from importlib.util import find_spec

from .kernel import Array
from .timing import NoPeer

MOST = 2e-3
"""Relative error: results are rounded to float16."""


def attention(Q: Array, K: Array, V: Array, scale: float, causal: bool) -> Callable[[], None]:
    """A function that lets cuDNN compute softmax(scale Q @ K.T) @ V of each head once: Q (heads, queries, columns), K
    and V (as many heads or fewer, keys, columns), CuPy's, float16; 2 to the power of `scale` times a score is a weight.
    `causal`: query i sees keys 0 to i.

    Its first result is compared with float64 for one head. Raises NoPeer where PyTorch is missing, and for fewer
    queries than keys where it is causal: it counts them from the first on; RuntimeError for a wrong result.
    """
    if not find_spec("torch"):
        raise NoPeer("cuDNN is called through PyTorch, which is not installed here: pip install torch")
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    if causal and Q.shape[1] != K.shape[1]:
        raise NoPeer("a causal attention is compared with cuDNN where queries and keys are as many")
    q, k, v = (torch.from_dlpack(each)[None] for each in (Q, K, V))
    of_e = scale * math.log(2)  # PyTorch's weights are powers of e

    def solve() -> torch.Tensor:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION), torch.no_grad():
            return scaled_dot_product_attention(
                q, k, v, scale=of_e, is_causal=causal, enable_gqa=len(Q) > len(K)
            )

    def call() -> None:
        solve()

    scores = of_e * q[0, 0].double() @ k[0, 0].double().T
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    first = torch.softmax(scores, dim=1) @ v[0, 0].double()
    error = float((solve()[0, 0].double() - first).abs().max() / first.abs().max())
    if not error < MOST:
        raise RuntimeError(f"cuDNN's attention has a relative error of {error:.1e}, above {MOST:.0e}")
    return call
