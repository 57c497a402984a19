"""`Gemm`: one GEMM problem, with which kernels are checked."""

from .judged import Judged
from .product import Product


class Gemm(Product, Judged):
    """C = A @ B.T with A (M,K), B (N,K), C (M,N); float32 is column-major (NT), float16 row-major (TN).

    What is launched and timed reads normal random numbers; `zeros`: zeros, for which a chip draws less power.
    """
