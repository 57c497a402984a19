"""Lists of problems: what is given as such, and that no output lies in what is read, or in another one."""

from collections.abc import Sequence

from .copies import Given
from .places import address, shared, span


def problems(A: Sequence, B: Sequence, out: Sequence | None, bias: Sequence | None) -> list[Given]:
    """The arrays of each problem. Raises what is wrong with the lists."""
    lists = {"A": A, "B": B, "out": out, "bias": bias}
    kinds = {name: isinstance(each, list | tuple) for name, each in lists.items() if each is not None}
    if not all(kinds.values()):
        have, others = ([name for name, kind in kinds.items() if kind is wanted] for wanted in (True, False))
        raise TypeError(
            f"{' and '.join(have)} {'is a list' if len(have) == 1 else 'are lists'}, and {' and '.join(others)} "
            f"{'is' if len(others) == 1 else 'are'} not; allowed are arrays, or lists of arrays, one for each problem. "
            "Where numbers were meant: pass cp.asarray(numbers)"
        )
    lengths = {name: len(each) for name, each in lists.items() if each is not None}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(
            f"the lists have different lengths: {told}; allowed is one array of each for each problem"
        )
    nothing = [None] * len(A)
    return list(zip(A, B, nothing if out is None else out, nothing if bias is None else bias, strict=True))


def check_all_apart(given: Sequence[Given]) -> None:
    """Raises ValueError where an output has an element in common with anything else: the problems run side by side."""
    places = []
    for number, (A, B, out, bias) in enumerate(given):
        for name, array in (("out", out), ("A", A), ("B", B), ("bias", bias)):
            if array is not None and array.size:
                low, high = span(array)
                places.append((address(array) + low, address(array) + high, number, name, array))
    reached: list[tuple] = []  # those that reach over the next one's beginning
    for place in sorted(places, key=lambda place: place[:2]):
        reached = [other for other in reached if other[1] > place[0]]
        for other in reached:
            if "out" in (other[3], place[3]) and shared(other[4], place[4]):
                of_out, of_other = sorted((other, place), key=lambda each: each[3] != "out")
                raise ValueError(
                    f"out of problem {of_out[2]} shares memory with {of_other[3]} of problem {of_other[2]}, and the "
                    "problems run side by side: pass a copy, or call matmul twice"
                )
        reached.append(place)
