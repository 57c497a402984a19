"""Attention in float64, and what common mistakes make of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from cupy_or_sim.launch import Tile

from .mistakes import Mistake

NEAR = 2.0**-9
"""By what part of the largest result a mistaken kernel's numbers may differ from those made here: they are rounded."""


def of_heads(matrix: Array, heads: int) -> Array:
    """(heads, rows, columns) of matrices one behind the other."""
    return matrix.reshape(heads, -1, matrix.shape[1])


def attention(Q: Array, K: Array, V: Array, heads: int, scale: float) -> Array:
    """softmax of 2 to the power of (scale Q @ K.T), times V, in float64, of heads one behind the other."""
    parts = []
    library = np if isinstance(Q, np.ndarray) else device.cp
    for q, k, v in zip(*(of_heads(each, heads) for each in (Q, K, V)), strict=True):
        scores = scale * (q.astype("float64") @ k.astype("float64").T)
        below = scores - scores.max(axis=1, keepdims=True)
        # A GPU's exp2 of a whole number may be an ulp off, and O then be rounded the other way.
        whole = library.floor(below)
        weights = library.ldexp(library.exp2(below - whole), whole.astype("int32"))
        parts.append(weights @ v.astype("float64") / weights.sum(axis=1, keepdims=True))
    return library.concatenate(parts)


def guess(result: np.ndarray, inputs: tuple, heads: int, scale: float, tile: Tile) -> Mistake | None:
    """The mistake that makes the written part of a result; None when it is none of the known ones."""
    written = ~np.isnan(result)
    for cause, words, mistaken in _mistakes(inputs, heads, scale, tile[2]) if written.any() else ():
        differs = abs(result[written].astype(float) - mistaken[written])
        if (differs <= NEAR * abs(mistaken[written]).max()).all():
            return Mistake(cause, f"\nWhat was written equals {words}.")
    return None


def _mistakes(inputs: tuple, heads: int, scale: float, keys: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """What common mistakes make of O: a word for each, in words, and in numbers. `keys` of a tile."""
    every = list(zip(*(of_heads(each.astype(float), heads) for each in inputs), strict=True))
    right = np.concatenate([Online()(scale * (q @ k.T), v, keys) for q, k, v in every])
    yield "rest-missing", "softmax(Q @ K.T) @ V: only the rest is missing", right
    for cause, words, solve in ONLINE:
        made = [solve(scale * (q @ k.T), v, keys) for q, k, v in every]
        yield cause, f"softmax(Q @ K.T) @ V {words}", np.concatenate(made)
    _, k, v = every[0]
    of_first = np.concatenate([Online()(scale * (q @ k.T), v, keys) for q, _, _ in every])
    yield "one-head", "what head 0's keys and values make of every head: look at blockIdx.y", of_first


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
            factor, weights = np.exp2(most - new), np.exp2(scores[:, tile] - new)
            total *= factor if self.rescale_sum else 1
            total += weights.sum(axis=1, keepdims=True) * (tile != not_summed)
            O *= factor ** (1 + self.twice) if self.rescale_o else 1  # noqa: E741
            O += weights @ V[tile]  # noqa: E741
            most = new
        with np.errstate(invalid="ignore"):  # without a tile there is nothing
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
