"""In which part of all cycles the tensor cores of a GPU work: the red thread of lessons 07 and 08."""

from dataclasses import dataclass

from course_lib.measure.results import Results
from course_lib.measure.rows import Row
from cupy_or_sim.limits import this_gpu
from ptxsim.gpus import GPUS, Gpu

FLOP = 4096
"""Of an SM's tensor cores in a cycle, with wgmma and float16."""
HELD = 0.97
"""A clock below this part of the highest one, the table's or the GPU's, is held down by something."""


@dataclass(frozen=True)
class TensorShares:
    """Of each kernel of some results: the share, the speed, the clock and the power while it runs on and on."""

    results: Results
    peer: bool = False

    def share(self, label: str) -> float | None:
        """Of the kernel with this label, 0 to 1; None where there is no record."""
        return share_of({row.label: row for row in self.results.rows}[label])

    def __repr__(self) -> str:
        known = [row for row in self.results.rows if share_of(row) and (self.peer or not row.is_peer)]
        if not known:
            return f"{self.results.title}: registers, clock and power need a GPU, and there is no record"
        wide = max(len(row.label) for row in known)
        highest = max(max(row.sustained_mhz or 0, row.sm_clock_mhz or 0, _free_clock(row)) for row in known)
        lines = [f"{self.results.title}, {known[0].origin}, running on and on"]
        for row in known:
            held = row.limits if row.limits and (row.sustained_mhz or 0) < HELD * highest else "nothing"
            lines.append(
                f"{row.label:{wide}}  tensor cores {share_of(row):4.0%}  {row.sustained:4.0f} TFLOP/s at "
                f"{row.sustained_mhz} MHz, {row.watts} W, held down by: {held}"
            )
        return "\n".join(lines)


def share_of(row: Row) -> float | None:
    """FLOP that were done, over those that the tensor cores could do in as many cycles."""
    if not (row.sustained and row.sustained_mhz):
        return None
    gpu = _gpu_of(row)
    sms = gpu.sms if gpu else this_gpu().sms
    return row.sustained * 1e6 / (sms * row.sustained_mhz * FLOP)


def _gpu_of(row: Row) -> Gpu | None:
    """That of the record, which may be another one than the GPU in use; None where it is not known."""
    return next((gpu for gpu in GPUS.values() if row.gpu and gpu.driver_name == row.gpu), None)


def _free_clock(row: Row) -> int:
    """In MHz, of its GPU when nothing holds it down; 0 where that is not known."""
    gpu = _gpu_of(row)
    return gpu.clock_mhz if gpu else 0


def tensor_shares(results: Results, peer: bool = False) -> TensorShares:
    """The table of shares for what `benchmark` returned, with or without its peer: `tensor_shares(results)`."""
    return TensorShares(results, peer)
