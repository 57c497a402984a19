"""More than one order of the warps, where that may matter and costs little."""

from collections.abc import Callable
from dataclasses import replace

from ..front.report import Report
from ..races.hazards import Note

OTHERS = (1, 2, 3)
"""Seeds: other legal orders."""
SMALL = 100_000
"""Instructions of warps. A launch of so many takes less than a second or two, also where its warps run apart."""

ONE_ORDER = Note(
    "what this kernel does depends on the order of the warps, and one order was run; --seed 1 runs another"
)


def in_other_orders(report: Report, again: Callable[[int], Report]) -> Report:
    """The report of a launch, or of the first other order with a finding that this one lacks. `again(seed)` launches
    once more, from the same start."""
    if not report.ok or not report.kernel.code.order_matters:
        return report
    if report.counters.total.instructions > SMALL:
        return replace(report, notes=(*report.notes, ONE_ORDER))
    for seed in OTHERS:
        other = again(seed)
        if not other.ok:
            found = Note(f"found in another order of the warps: --seed {seed}")
            return replace(other, notes=(*other.notes, found))
    return report
