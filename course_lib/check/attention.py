"""`Attention`: for each head softmax(scale Q @ K.T) @ V, with which kernels are checked."""

import math
from collections.abc import Callable

import numpy as np

from cupy_or_sim import cudnn, device
from cupy_or_sim.kernel import Array
from cupy_or_sim.launch import Launch, Tile

from .attention_mistakes import Form, attention, guess, of_heads
from .judged import Judged
from .mistakes import Mistake

D = 128
"""Columns of a head, where nobody says another number."""
LAYOUT = "heads of"
SCALE = math.log2(math.e) / math.sqrt(D)
"""Of scores: e to the power of score / sqrt(D) is 2 to the power of this times the score."""
ROUNDED = 2.0**-9
"""Of a sum of weights times |V|: by how much O may be off. Weights and O are rounded to float16, by at most 2^-11 each;
a right kernel on normal data is off by a third of this."""
CLASSES, BITS, PEAKS = 16, 24, 8
"""Of exact inputs: kinds of keys; keys that fill a row's sum of weights up to a power of two; large ones."""
MOST, HIGH = 3, 12
"""Exponents of weights of a kind are 0 to MOST, those of large keys up to HIGH."""
NEVER = -200
"""An exponent of a weight that is 0, whatever the maximum."""
FEWER = 27, 45
"""Queries and keys than whole tiles, in small problems of any length."""


class Attention(Judged):
    """O = softmax(scale Q @ K.T) @ V for each of `heads`, float16: Q and O (heads x queries, columns), K and V (heads
    x keys, columns), all row-major, one head behind the other. A kernel takes Q, K, V, O, the numbers of queries and
    keys of a head, and `scale` times log2(e): weights are 2 to the power of scale times score.

    `causal`: a head's last query sees all keys, each one before it a key less. `group`: so many heads, one behind the
    other, have the same keys and values. `any_length`: for a kernel that takes queries and keys in any number.

    `columns`: of a head, 64 or 128. Where `scale` is None, a weight is e to the power of score / sqrt(columns).

    As a launch's tile sees it: `M` rows of `N` = columns results, and `K` keys.
    """

    matrices, peer, dtype = "QKVO", "cuDNN", "float16"

    def __init__(
        self,
        heads: int,
        queries: int,
        keys: int,
        scale: float | None = None,
        causal: bool = False,
        group: int = 1,
        any_length: bool = False,
        columns: int = D,
    ) -> None:
        said = f"Attention({heads}, {queries}, {keys})"
        if min(heads, queries, keys, group) < 1 or heads % group:
            raise ValueError(f"{said}: heads, queries and keys start at 1, and group={group} divides heads")
        if columns not in (64, D):
            raise ValueError(f"{said}: heads of {columns} columns; take 64 or {D}")
        if causal and queries > keys:
            raise ValueError(
                f"{said}, causal: the first queries would see no key; take {queries} keys, or more"
            )
        self.heads, self.queries, self.keys, self.any_length = heads, queries, keys, any_length
        self.own_scale = SCALE * math.sqrt(D / columns)
        self.form = Form(heads, self.own_scale if scale is None else scale, causal, group)
        self.M, self.N, self.K = heads * queries, columns, keys
        self.layout = f"{LAYOUT} {columns}" + ", causal" * causal + f", {group} heads a key" * (group > 1)

    def __repr__(self) -> str:
        return f"Attention({self.size}, {self.dtype}, {self.layout})"

    @property
    def title(self) -> str:
        return f"attention, {self.size}, {self.layout}, {self.dtype}"

    @property
    def size(self) -> str:
        other = "" if self.form.scale == self.own_scale else f", scale={self.form.scale:g}"
        return f"heads={self.heads}, queries={self.queries}, keys={self.keys}{other}"

    @property
    def flops(self) -> int:
        """Of the two products, for the keys that are seen; the softmax is not counted."""
        return 4 * self.heads * int(self.form.sees(self.queries, self.keys).sum()) * self.N

    @property
    def operands(self) -> int:
        return 2 * self.N * (self.M + 2 * self.form.others * self.keys)

    def record(self) -> dict:
        form = {"causal": self.form.causal, "group": self.form.group}
        form |= {} if self.N == D else {"columns": self.N}
        what = {"shape": [self.heads, self.queries, self.keys], "dtype": self.dtype, "layout": self.layout}
        return what | ({} if self.layout == f"{LAYOUT} {D}" else {"form": form})

    def like(self, M: int, N: int, K: int) -> "Attention":
        """With as many heads where M is the same, else with one group; a causal one with as many times K keys as M."""
        heads = self.heads if M == self.M else 1
        return self._of(heads if heads > 1 else self.form.group, M // heads, K)

    def small(self, tile: Tile, k_tiles: int, blocks_m: int, blocks_n: int) -> "Attention":
        """`blocks_n` groups of heads. Queries and keys differ, and are no whole tiles where the kernel takes any."""
        queries, keys = blocks_m * tile[0], k_tiles * tile[2]
        queries += tile[0] * (queries == keys)
        if self.any_length:
            queries, keys = queries - FEWER[0], keys - FEWER[1]
        return self._of(blocks_n * self.form.group, queries, keys)

    def _of(self, heads: int, queries: int, keys: int) -> "Attention":
        """Of the same form. A causal one gets as many times the keys as its queries want."""
        times = -(-queries // keys) if self.form.causal else 1
        return Attention(heads, queries, times * keys, *self.given()[3:])

    def shorter(self, K: int) -> "Attention":
        shorter = Attention(self.heads, self.queries, K, *self.given()[3:])
        Q, *others = self.inputs
        of_keys = (device.cp.ascontiguousarray(of_heads(each, self.form.others)[:, :K]) for each in others)
        shorter.inputs = (Q, *(each.reshape(-1, self.N) for each in of_keys))
        return shorter

    def tiles(self, launch: Launch) -> tuple[int, int]:
        """Tiles of a head's queries, and heads."""
        return -(-self.queries // launch.tile[0]), self.heads

    def grid(self, launch: Launch) -> tuple[int, ...]:
        """Blocks along the queries of a head (blockIdx.x), and heads (blockIdx.y). A tile of queries is of one head."""
        if self.any_length:
            return self.tiles(launch)
        if self.queries % launch.tile[0]:
            raise ValueError(
                f"{self.queries} queries a head do not fit tile {launch.tile}: take a multiple of {launch.tile[0]}"
            )
        return super().grid(launch)

    def peers_call(self) -> Callable[[], None]:
        """cuDNN through PyTorch, on the same arrays. Raises NoPeer where that does not do it."""
        Q, K, V = self.inputs
        by_heads = of_heads(Q, self.heads), of_heads(K, self.form.others), of_heads(V, self.form.others)
        return cudnn.attention(*by_heads, self.form.scale, self.form.causal)

    def numbers(self) -> tuple:
        return np.int32(self.queries), np.int32(self.keys), np.float32(self.form.scale)

    def given(self) -> tuple:
        form, shape = self.form, (self.heads, self.queries, self.keys)
        return *shape, form.scale, form.causal, form.group, self.any_length, self.N

    def random(self, seed: int) -> tuple:
        """Q, K and V of normal random numbers, where this machine's kernels read them."""
        random, rows = np.random.default_rng(seed), (self.M, *(self.form.others * self.keys,) * 2)
        return self.here([random.standard_normal((n, self.N), np.float32).astype(self.dtype) for n in rows])

    def exact(self) -> "Attention":
        """With a scale of 1: the weights are 2 to the power of a score."""
        return Attention(self.heads, self.queries, self.keys, 1.0, *self.given()[4:])

    def integers(self, seed: int) -> tuple:
        """Q, K and V of whole numbers. Scores are whole numbers, so weights are powers of two; those of a row sum to
        a power of two, so O is exact before it is rounded, in whichever order its tiles are worked on."""
        random = np.random.default_rng(seed)
        groups = [self._exact_group(random) for _ in range(self.form.others)]
        return tuple(np.concatenate(each).astype(self.dtype) for each in zip(*groups, strict=True))

    def _exact_group(self, random: np.random.Generator) -> tuple[np.ndarray, ...]:
        """A key has a 1 in the column of its kind, or in a column that it alone has: in these columns a query says
        which exponent the key's weight has. In the others products come in pairs that cancel."""
        columns, rows = random.permutation(self.N), self.form.group * self.queries
        kinds, own, pairs = np.split(columns, (CLASSES, CLASSES + BITS + PEAKS))
        places = np.arange(self.keys)
        # All queries but the first few see the keys that fill; the others may stand anywhere.
        random.shuffle(places[BITS * self.form.causal :])
        alone, others = np.split(places, (BITS + PEAKS,))
        sees = np.tile(self.form.sees(self.queries, self.keys), self.form.group)
        K, Q = np.zeros((self.keys, self.N)), np.zeros((rows, self.N))
        kind = random.integers(0, CLASSES, len(others))
        K[others, kinds[kind]] = 1
        K[alone, own] = 1
        exponents = random.integers(0, MOST + 1, (rows, CLASSES))
        high = random.integers(MOST, HIGH + 1, (rows, PEAKS))
        Q[:, kinds], Q[:, own[BITS:]] = exponents, high
        seen = np.cumsum(K[:, kinds], axis=0)[sees - 1].astype(int)
        weights = (2**exponents * seen).sum(axis=1) + (2**high * (alone[BITS:] < sees[:, None])).sum(axis=1)
        Q[:, own[:BITS]] = _filling(weights, sees)
        first, second = pairs.reshape(2, -1)
        K[:, first] = K[:, second] = random.integers(-2, 3, (self.keys, len(first)))
        Q[:, first] = random.integers(-2, 3, (rows, len(first)))
        Q[:, second] = -Q[:, first]
        return Q, K, random.integers(-4, 5, (self.keys, self.N))

    def expected(self, *inputs: Array) -> Array:
        Q, K, V = inputs
        return attention(Q, K, V, self.form)

    def limit(self, *inputs: Array) -> Array:
        Q, K, V = inputs
        return ROUNDED * attention(Q, K, abs(V), self.form)

    def guess(self, result: np.ndarray, inputs: tuple, tile: Tile) -> Mistake | None:
        return guess(result, inputs, self.form, tile)


def _filling(weights: np.ndarray, sees: np.ndarray) -> np.ndarray:
    """(rows, BITS) exponents whose powers of two fill each of these whole numbers up to a power of two, or NEVER. Rows
    that see nothing but some keys that fill get 0, 0, 1, 2, ... for the last of these."""
    key, sees = np.arange(BITS), sees[:, None]
    whole = 2 ** np.ceil(np.log2(np.maximum(weights, 1))).astype(int)
    bits = np.where((whole - weights)[:, None] >> key & 1, key, NEVER)
    steps = key - np.maximum(sees - HIGH, 0)
    alone = np.where(steps < 0, NEVER, np.where(key < sees, np.maximum(steps - 1, 0), MOST))
    return np.where(weights[:, None], bits, alone)
