"""Which plan of `matmul` is the fastest for a problem, and why: timed now on a GPU, or read from a sweep on file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cupy_or_sim import device, keys, style, timing
from ptxsim import occupancy
from ptxsim.gpus import GPUS, H100, find_gpu

from . import heat, plans, sweep_file
from .matmul import LESSON, here
from .plans import Plan, Shape
from .ready import matmul_source
from .sweep_file import shape_of


@dataclass(frozen=True)
class Tuning:
    """Times of plans in microseconds, {(M, N, K): {plan: us}}; and of each problem the plan that was chosen, with its
    time, cuBLAS's and perhaps CUTLASS 2's, {(M, N, K): {"plan", "us", "cublas_us", "cutlass2_us"}}."""

    origin: str
    gpu: str
    times: dict[Shape, dict[Plan, float]]
    chosen: dict[Shape, dict]
    registers: dict[tuple, int]  # of a thread, by tile and slots
    power: tuple[dict, ...] = ()

    def __repr__(self) -> str:
        head = f"{'M x N x K':>20}  {'tile':11} slots parts order      us  cuBLAS  CUTLASS 2"
        return "\n".join([self.origin, head, *map(self._line, self.chosen)])

    def _line(self, shape: Shape) -> str:
        row = self.chosen[shape]
        plan, us, peer = row["plan"], row["us"], row.get("cutlass2_us")
        ratios = f"{row['cublas_us'] / us:7.2f}  " + (f"{peer / us:9.2f}" if peer else f"{'-':>9}")
        return f"{_x(shape):>20}  {_x(plan.tile):11} {plan.stages:5} {plan.split:5} {plan.group:5} {us:7.1f} {ratios}"

    def best(self, shape: Sequence[int], tile: Sequence[int] = ()) -> tuple[Plan, float]:
        """The chosen plan; or the fastest with this tile (M, N); and its microseconds."""
        times = self._times(shape)
        if not tile:
            return self.chosen[shape_of(shape)]["plan"], self.chosen[shape_of(shape)]["us"]
        found = [plan for plan in times if plan.tile[:2] == tuple(tile[:2])]
        if not found:
            raise ValueError(f"{_x(shape)} was not timed with tiles of {_x(tile)}")
        plan = min(found, key=lambda plan: times[plan])
        return plan, times[plan]

    def heat(self, *shapes: Sequence[int]) -> None:
        """Draw, for each problem and each tile, the time of its fastest plan over that of the fastest of all."""
        times = {shape_of(shape): self._times(shape) for shape in shapes or self.times}
        style.show(*heat.tiles(self.origin, times, {shape: self.chosen[shape]["plan"] for shape in times}))

    def orders(self, shape: Sequence[int]) -> None:
        """Draw what other orders of blocks, and other numbers of slots, cost the tiles that are near the fastest."""
        style.show(*heat.variants(self.origin, shape_of(shape), self._times(shape)))

    def why(self, shape: Sequence[int], *tiles: Sequence[int]) -> str:
        """A table of the chosen plan, and the fastest with each of these tiles: waves, bytes that leave L2, speed."""
        lines = [f"{_x(shape):18} parts      us  TFLOP/s  blocks  on an SM  waves  MB from L2  TB/s"]
        others = [self.best(shape, tile) for tile in tiles if tuple(tile) != self.best(shape)[0].tile[:2]]
        for plan, us in (self.best(shape), *others):
            M, N, K = shape
            down, across = plan.tiles(M, N)
            blocks, at_once = down * across * plan.split, self.at_once(plan)
            moved = down * across * sum(plan.tile[:2]) * K * 2 / 1e6
            waves = f"{blocks / (find_gpu(self.gpu).sms * at_once):6.2f}" if at_once else f"{'-':>6}"
            speed = 2 * M * N * K / us / 1e6
            lines.append(
                f"  {_x(plan.tile):16} {plan.split:5} {us:7.1f} {speed:8.0f} {blocks:7} {at_once or '-':>9} {waves} "
                f"{moved:11.0f} {moved / us:5.2f}"
            )
        return "\n".join(lines)

    def at_once(self, plan: Plan) -> int | None:
        """Blocks that an SM holds; None for a GPU whose limits are not known here."""
        known = next((each for each in GPUS.values() if self.gpu in (each.name, each.driver_name)), None)
        used = self.registers[plan.tile, plan.stages]
        return occupancy(known, plan.threads, used, plan.shared_mem).blocks if known else None

    def _times(self, shape: Sequence[int]) -> dict[Plan, float]:
        if shape_of(shape) not in self.times:
            raise ValueError(f"{_x(shape)} was not timed; known are {', '.join(map(_x, self.times))}")
        return self.times[shape_of(shape)]


def tuned() -> Tuning:
    """The sweep on file for the GPU in use. Without a GPU, and for one that nobody tuned: that of an H100."""
    mine = timing.name() if device.backend() == "cupy" else H100.driver_name
    record = plans.on_file(mine) or plans.on_file(H100.driver_name)
    about = record["provenance"]
    origin = f"recorded on {about['gpu']}, {about['date']}: {about['layout']}, {about['clock']}"
    if about["kernel"] != keys.source_key(LESSON, matmul_source(6)):
        origin += "; the kernel was edited since"
    times, chosen = sweep_file.times_of(record), sweep_file.chosen_of(record)
    power = tuple(record.get("power", ()))
    return Tuning(origin, about["gpu"], times, chosen, sweep_file.registers_of(record), power)


def tune(shapes: Iterable[Sequence[int]], tiles: Iterable[Sequence[int]] = ()) -> Tuning:
    """Time the plans with these tiles (M, N), or with all, for problems (M, N, K), and choose the fastest.

    Without a GPU nothing is timed: what comes back is the part of the record of an H100 that has them."""
    wanted, sides = [shape_of(shape) for shape in shapes], {tuple(tile[:2]) for tile in tiles}
    if device.backend() == "cupy":
        from . import tuner

        fitting = [base for base in tuner.BASES if base.fits(True, True, here()[0])]
        bases = [base for base in fitting if not sides or base.tile[:2] in sides]
        found = tuner.sweep(wanted, bases)
        chosen = {s: {"plan": f.plan, "us": f.us, "cublas_us": f.cublas_us} for s, f in found.items()}
        times = {shape: each.times for shape, each in found.items()}
        return Tuning(
            f"measured now on {timing.name()}", timing.name(), times, chosen, tuner.registers(found)
        )
    record = tuned()
    times = {
        shape: {p: us for p, us in record._times(shape).items() if not sides or p.tile[:2] in sides}
        for shape in wanted
    }
    chosen = {shape: _again(record.chosen[shape], each) for shape, each in times.items()}
    return replace(record, origin=f"no GPU, nothing timed: {record.origin}", times=times, chosen=chosen)


def _again(row: dict, times: dict[Plan, float]) -> dict:
    """The choice of the record, or, where its tile is not among these, the fastest of them."""
    if row["plan"] in times:
        return row
    plan = min(times, key=lambda plan: times[plan])
    return row | {"plan": plan, "us": times[plan]}


def _x(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))
