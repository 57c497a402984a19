"""Views that no kernel reads or writes where they lie: they go by way of a copy, which `cp` makes."""

from collections.abc import Callable

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

from .places import straight
from .ready import Launch


def by_copies(
    prepare: Callable[[Array, Array, Array], Launch],
    A: Array,
    B: Array,
    out: Array,
    bias: Array,
    beta: float,
) -> Launch:
    """What `prepare` makes for arrays of these forms, with a copy of those that are not straight: of A, B and bias
    before it, of `out` behind it."""
    bent = [array is not None and not straight(array) for array in (A, B, bias)]
    out_bent = not straight(out)
    launch = prepare(*map(_form, (A, B, out)))
    if not (any(bent) or out_bent):
        return launch

    def run(A: Array, B: Array, out: Array, bias: Array) -> None:
        cp = device.cp
        a, b, v = (cp.array(x, order="C") if bad else x for x, bad in zip((A, B, bias), bent, strict=True))
        if not out_bent:
            return launch(a, b, out, v)
        C = cp.array(out, order="C") if beta else cp.empty(out.shape, out.dtype)
        launch(a, b, C, v)
        out[...] = C

    return run


def _form(array: Array) -> Array:
    """It, or an array of the form that its copy will have."""
    return array if straight(array) else device.cp.empty(array.shape, array.dtype)
