"""Attention in float64, and what common mistakes make of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from cupy_or_sim.launch import Tile

from .mistakes import Mistake

UNSEEN = -1e6
"""The exponent of a weight that is 0, as that of a key that a query does not see."""
NEAR = 2.0**-9
"""By what part of the largest result a mistaken kernel's numbers may differ from those made here: they are rounded."""


def of_heads(matrix: Array, heads: int) -> Array:
    """(heads, rows, columns) of matrices one behind the other."""
    return matrix.reshape(heads, -1, matrix.shape[1])


@dataclass(frozen=True)
class Form:
    """Of attention: whose keys and values a head takes, and which of them a query sees. See `Attention`."""

    heads: int
    scale: float
    causal: bool = False
    group: int = 1

    @property
    def others(self) -> int:
        """Heads of keys and of values."""
        return self.heads // self.group

    def sees(self, queries: int, keys: int) -> np.ndarray:
        """Of each query of a head: how many of the keys, from the first on."""
        return np.arange(keys - queries, keys) + 1 if self.causal else np.full(queries, keys)

    def of_each_head(self, Q: Array, K: Array, V: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Its Q, K and V in float64."""
        keys, values = (of_heads(each, self.others) for each in (K, V))
        for head, queries in enumerate(of_heads(Q, self.heads)):
            yield tuple(
                each.astype("float64")
                for each in (queries, keys[head // self.group], values[head // self.group])
            )

    def scores(self, q: Array, k: Array, sees: np.ndarray | None = None) -> Array:
        """Of a head's queries and keys, times scale; UNSEEN where a query does not see a key."""
        library, shape = np if isinstance(q, np.ndarray) else device.cp, (len(q), len(k))
        seen = library.asarray(self.sees(*shape) if sees is None else sees)
        return library.where(library.arange(len(k)) < seen[:, None], self.scale * (q @ k.T), UNSEEN)


def attention(Q: Array, K: Array, V: Array, form: Form) -> Array:
    """softmax of 2 to the power of (scale Q @ K.T), times V, in float64, of heads one behind the other."""
    parts = []
    library = np if isinstance(Q, np.ndarray) else device.cp
    for q, k, v in form.of_each_head(Q, K, V):
        scores = form.scores(q, k)
        below = scores - scores.max(axis=1, keepdims=True)
        # A GPU's exp2 of a whole number may be an ulp off, and O then be rounded the other way.
        whole = library.floor(below)
        weights = library.ldexp(library.exp2(below - whole), whole.astype("int32"))
        parts.append(weights @ v / weights.sum(axis=1, keepdims=True))
    return library.concatenate(parts)


def guess(result: np.ndarray, inputs: tuple, form: Form, tile: Tile) -> Mistake | None:
    """The mistake that makes the written part of a result; None when it is none of the known ones."""
    written = ~np.isnan(result)
    for cause, words, mistaken in _mistakes(inputs, form, tile[2]) if written.any() else ():
        differs = abs(result[written].astype(float) - mistaken[written])
        if (differs <= NEAR * abs(mistaken[written]).max()).all():
            return Mistake(cause, f"\nWhat was written equals {words}.")
    return None


def _mistakes(inputs: tuple, form: Form, keys: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """What common mistakes make of O: a word for each, in words, and in numbers. `keys` of a tile."""
    Q, K, V = inputs
    every = list(form.of_each_head(Q, K, V))
    right = attention(Q, K, V, form)
    yield "rest-missing", "softmax(Q @ K.T) @ V: only the rest is missing", right
    for cause, words, solve in ONLINE:
        made = [solve(form.scores(q, k), v, keys) for q, k, v in every]
        yield cause, f"softmax(Q @ K.T) @ V {words}", np.concatenate(made)
    _, k, v = every[0]
    of_first = np.concatenate([Online()(form.scores(q, k), v, keys) for q, _, _ in every])
    yield "one-head", "what head 0's keys and values make of every head: look at blockIdx.y", of_first
    if form.causal:
        yield from _masked(every, form, keys)


def _masked(every: list, form: Form, keys: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """What other masks make of O."""
    q, k, _ = every[0]
    right, first = form.sees(len(q), len(k)), np.arange(len(q)) + 1
    masks = (
        ("mask-one-more", "a key more than the query may see", right + 1),
        ("mask-one-less", "a key less than the query may see: not its own", right - 1),
        ("no-mask", "all keys: there is no mask", np.full(len(q), len(k))),
        ("mask-from-the-first", "keys 0 to i for query i, where the last query sees all", first),
    )
    for cause, words, sees in masks:
        made = [Online()(form.scores(q, k, sees), v, keys) for q, k, v in every]
        yield cause, f"softmax(Q @ K.T) @ V over {words}", np.concatenate(made)


@dataclass(frozen=True)
class Online:
    """Attention over tiles of keys with a running maximum and a running sum, and one mistake."""

    rescale_sum: bool = True
    """When the maximum grows; and O."""
    rescale_o: bool = True
    twice: bool = False
    """O is rescaled twice."""
    running: bool = True
    """The maximum is that of all tiles so far, and not the tile's own (which is right, too, with the factors)."""
    divide: bool = True
    weight_of: float = 2.0
    """Of what weights are powers; and factors."""
    factor_of: float = 2.0
    summed_early: bool = False
    """Before the factor counts, and not behind that."""
    left_out: int | None = None
    """The tile of keys that is, by its index; and the one whose weights are not in the sum."""
    not_summed: int | None = None

    def __call__(self, scores: np.ndarray, V: np.ndarray, keys: int) -> np.ndarray:
        """O of one head, (queries, columns of V)."""
        tiles = [slice(at, at + keys) for at in range(0, len(V), keys)]
        left_out, not_summed = (None if at is None else tiles[at] for at in (self.left_out, self.not_summed))
        most = np.full((len(scores), 1), -np.inf)
        total, O = np.zeros_like(most), np.zeros((len(scores), V.shape[1]))  # noqa: E741
        for tile in (tile for tile in tiles if tile != left_out):
            own = scores[:, tile].max(axis=1, keepdims=True)
            new = np.maximum(most, own) if self.running else own
            with np.errstate(over="ignore"):  # without the running maximum
                factor, weights = self.factor_of ** (most - new), self.weight_of ** (scores[:, tile] - new)
            of_own = factor if self.summed_early else 1
            total *= factor if self.rescale_sum else 1
            total += weights.sum(axis=1, keepdims=True) * of_own * (tile != not_summed)
            O *= factor ** (1 + self.twice) if self.rescale_o else 1  # noqa: E741
            O += weights @ V[tile] * of_own  # noqa: E741
            most = new
        with np.errstate(invalid="ignore", divide="ignore"):  # without a tile there is nothing
            return O / total if self.divide else O


GROWS = "when the maximum grows"
ONLINE = (
    (
        "no-rescale",
        f"without the factor, for O and the sum, {GROWS}",
        Online(rescale_sum=False, rescale_o=False),
    ),
    ("o-not-rescaled", f"with an O that is not multiplied by the factor {GROWS}", Online(rescale_o=False)),
    (
        "sum-not-rescaled",
        f"with a sum that is not multiplied by the factor {GROWS}",
        Online(rescale_sum=False),
    ),
    ("rescaled-twice", f"with an O that is multiplied by the factor twice {GROWS}", Online(twice=True)),
    (
        "tile-maximum",
        "with the tile's own maximum in the place of the running one, and no factor",
        Online(running=False, rescale_sum=False, rescale_o=False),
    ),
    ("not-divided", "without the division by the sum", Online(divide=False)),
    ("no-last-tile", "without the last tile of keys", Online(left_out=-1)),
    ("no-first-tile", "without the first tile of keys", Online(left_out=0)),
    ("sum-misses-last", "with a sum that misses the last tile of keys", Online(not_summed=-1)),
    ("sum-misses-first", "with a sum that misses the first tile of keys", Online(not_summed=0)),
)
"""A word for each mistake, in words, and how it computes."""
