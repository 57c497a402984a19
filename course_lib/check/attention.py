"""`Attention`: for each head softmax(scale Q @ K.T) @ V, with which kernels are checked."""

import math
from collections.abc import Callable

import numpy as np

from cupy_or_sim import cudnn, device
from cupy_or_sim.kernel import Array
from cupy_or_sim.launch import Launch, Tile

from .attention_mistakes import attention, guess, of_heads
from .judged import Judged
from .mistakes import Mistake

D = 128
"""Columns of a head."""
SCALE = math.log2(math.e) / math.sqrt(D)
"""Of scores: e to the power of score / sqrt(D) is 2 to the power of this times the score."""
ROUNDED = 2.0**-9
"""Of a sum of weights times |V|: by how much O may be off. Weights and O are rounded to float16, by at most 2^-11 each;
a right kernel on normal data is off by a third of this."""
CLASSES, BITS = 16, 24
"""Of exact inputs: kinds of keys, and keys that fill a row's sum of weights up to a power of two."""
MOST = 3
"""Exponents of the weights of a kind are 0 to this."""
NEVER = -200
"""An exponent of a weight that is 0, whatever the maximum."""


class Attention(Judged):
    """O = softmax(scale Q @ K.T) @ V for each of `heads`, float16: Q and O (heads x queries, 128), K and V (heads x
    keys, 128), all row-major, one head behind the other. A kernel takes Q, K, V, O, the numbers of queries and keys of
    a head, and `scale` times log2(e): weights are 2 to the power of scale times score.

    As a launch's tile sees it: `M` rows of `N` = 128 results, and `K` keys.
    """

    matrices, peer = "QKVO", "cuDNN"
    dtype, layout = "float16", "heads of 128"

    def __init__(self, heads: int, queries: int, keys: int, scale: float = SCALE) -> None:
        if min(heads, queries, keys) < 1:
            raise ValueError(f"Attention({heads}, {queries}, {keys}): heads, queries and keys start at 1")
        self.heads, self.queries, self.keys, self.scale = heads, queries, keys, scale
        self.M, self.N, self.K = heads * queries, D, keys

    def __repr__(self) -> str:
        return f"Attention({self.size}, {self.dtype}, {self.layout})"

    @property
    def title(self) -> str:
        return f"attention, {self.size}, {self.layout}, {self.dtype}"

    @property
    def size(self) -> str:
        other = "" if self.scale == SCALE else f", scale={self.scale:g}"
        return f"heads={self.heads}, queries={self.queries}, keys={self.keys}{other}"

    @property
    def flops(self) -> int:
        """Of the two products; the softmax is not counted."""
        return 4 * self.M * self.keys * D

    @property
    def operands(self) -> int:
        return 2 * D * (self.M + 2 * self.heads * self.keys)

    def record(self) -> dict:
        return {"shape": [self.heads, self.queries, self.keys], "dtype": self.dtype, "layout": self.layout}

    def like(self, M: int, N: int, K: int) -> "Attention":
        """With as many heads where M is the same, else with one."""
        heads = self.heads if M == self.M else 1
        return Attention(heads, M // heads, K, self.scale)

    def small(self, tile: Tile, k_tiles: int, blocks_m: int, blocks_n: int) -> "Attention":
        """`blocks_n` heads. Queries and keys differ."""
        queries, keys = blocks_m * tile[0], k_tiles * tile[2]
        return Attention(blocks_n, queries + tile[0] * (queries == keys), keys, self.scale)

    def shorter(self, K: int) -> "Attention":
        shorter = Attention(self.heads, self.queries, K, self.scale)
        Q, *others = self.inputs
        of_keys = (device.cp.ascontiguousarray(of_heads(each, self.heads)[:, :K]) for each in others)
        shorter.inputs = (Q, *(each.reshape(-1, D) for each in of_keys))
        return shorter

    def tiles(self, launch: Launch) -> tuple[int, int]:
        """Tiles of a head's queries, and heads."""
        return self.queries // launch.tile[0], self.heads

    def grid(self, launch: Launch) -> tuple[int, ...]:
        """Blocks along the queries of a head (blockIdx.x), and heads (blockIdx.y). A tile of queries is of one head."""
        if self.queries % launch.tile[0]:
            raise ValueError(
                f"{self.queries} queries a head do not fit tile {launch.tile}: take a multiple of {launch.tile[0]}"
            )
        return super().grid(launch)

    def peers_call(self) -> Callable[[], None]:
        """cuDNN through PyTorch, on the same arrays. Raises RuntimeError where that does not do it."""
        Q, K, V = (of_heads(each, self.heads) for each in self.inputs)
        return cudnn.attention(Q, K, V, self.scale)

    def numbers(self) -> tuple:
        return np.int32(self.queries), np.int32(self.keys), np.float32(self.scale)

    def given(self) -> tuple:
        return self.heads, self.queries, self.keys, self.scale

    def random(self, seed: int) -> tuple:
        """Q, K and V of normal random numbers, where this machine's kernels read them."""
        random, rows = np.random.default_rng(seed), (self.M, *(self.heads * self.keys,) * 2)
        return self.here([random.standard_normal((n, D), np.float32).astype(self.dtype) for n in rows])

    def exact(self) -> "Attention":
        """With a scale of 1: the weights are 2 to the power of a score."""
        return Attention(self.heads, self.queries, self.keys, 1.0)

    def integers(self, seed: int) -> tuple:
        """Q, K and V of whole numbers. Scores are whole numbers, so weights are powers of two; those of a row sum to
        a power of two, so O is exact before it is rounded, in whichever order its tiles are worked on."""
        random = np.random.default_rng(seed)
        heads = [self._exact_head(random) for _ in range(self.heads)]
        return tuple(np.concatenate(each).astype(self.dtype) for each in zip(*heads, strict=True))

    def _exact_head(self, random: np.random.Generator) -> tuple[np.ndarray, ...]:
        """A key has a 1 in the column of its kind, or in a column that it alone has: in these columns a query says
        which exponent the key's weight has. In the others products come in pairs that cancel."""
        columns, places = random.permutation(D), random.permutation(self.keys)
        kinds, own, pairs = np.split(columns, (CLASSES, CLASSES + BITS))
        filling, others = places[:BITS], places[BITS:]
        K, Q = np.zeros((self.keys, D)), np.zeros((self.queries, D))
        kind = random.integers(0, CLASSES, len(others))
        K[others, kinds[kind]] = 1
        K[filling, own] = 1
        exponents = random.integers(0, MOST + 1, (self.queries, CLASSES))
        Q[:, kinds] = exponents
        weights = 2**exponents @ np.bincount(kind, minlength=CLASSES)
        Q[:, own] = _filling(weights)
        first, second = pairs.reshape(2, -1)
        K[:, first] = K[:, second] = random.integers(-2, 3, (self.keys, len(first)))
        Q[:, first] = random.integers(-2, 3, (self.queries, len(first)))
        Q[:, second] = -Q[:, first]
        return Q, K, random.integers(-4, 5, (self.keys, D))

    def expected(self, *inputs: Array) -> Array:
        Q, K, V = inputs
        return attention(Q, K, V, self.heads, self.scale)

    def limit(self, *inputs: Array) -> Array:
        Q, K, V = inputs
        return ROUNDED * attention(Q, K, abs(V), self.heads, self.scale)

    def guess(self, result: np.ndarray, inputs: tuple, tile: Tile) -> Mistake | None:
        return guess(result, inputs, self.heads, self.scale, tile)


def _filling(weights: np.ndarray) -> np.ndarray:
    """(rows, BITS) exponents whose powers of two fill each of these whole numbers up to a power of two, or NEVER."""
    whole = 2 ** np.ceil(np.log2(weights)).astype(int)
    bits = (whole - weights)[:, None] >> np.arange(BITS) & 1
    return np.where(bits, np.arange(BITS), NEVER)
