"""From source to a kernel, and from a kernel to a launch: what is checked before anything runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile

import numpy as np

from ..compiler.cache import ToolMissing
from ..compiler.nvrtc import CompileError
from ..gpus import H100, MAX_REGISTERS, REGISTERS, SHARED_BY_DEFAULT, WARP, Gpu, Room, find_gpu
from ..ground.asked import Asked
from ..ground.heap import ROOM, Heap
from ..ground.interrupts import MessageOnly, interruptible
from ..ground.memory import SPACING, Buffer, Bytes, Fault, GlobalMemory
from ..ground.texture import Texture
from ..ground.work import Budget
from ..machine.decode import Code
from ..machine.launched import PLAIN, Flags, LaunchState
from ..machine.machine import Machine, plain_name
from ..observe.counters import Counters, NoCounters
from ..observe.events import Event
from ..ptx import program as ptx
from ..races.hazards import HazardLog
from ..units.clusters import MOST_BLOCKS
from .arguments import Bound, bind
from .kernel import Kernel, LaunchError, meant_for, resources
from .occupancy import launch_resources, registers_at_launch, room
from .report import Report

LANES_AT_ONCE = 16384
"""Blocks run in batches of about this many lanes: enough to keep NumPy busy, and little memory."""

LANES_OF_A_GPU = H100.sms * H100.warps * WARP
"""Where blocks may wait for each other, as many run at once as the SMs of an H100 hold threads."""

SHARED_AT_ONCE, LOCAL_AT_ONCE = 16 << 20, 256 << 20
"""And of no more bytes of memory than this, unless a single block has more; shared memory is watched byte by byte."""

NO_TEXTURES: Mapping[int, Texture] = {}
NOBODY = -1
"""In the place of a block that is watched."""
WORKSPACE = 1023 * SPACING
"""The address of what grid.sync() works with."""
HEAP = 1022 * SPACING
"""And of what malloc and new of a kernel give."""

MAX_THREADS = 1024
MAX_LOCAL = 512 * 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
"""Limits of every GPU of compute capability 8.0 to 9.0 (CUDA C++ Programming Guide, compute capabilities);
227 KB of shared memory need 9.0, an 8.0 has 163 KB. Static arrays may take 48 KB, a thread's local memory 512 KB."""
MOST_OF_A_BLOCK = "a block has at most {} threads, of them at most {} in x, {} in y and {} in z".format(
    MAX_THREADS, *MAX_BLOCK
)

MAX_SIMULATED = 2**28
"""Threads of a launch: NumPy would take minutes to hours for more."""
MAX_BLOCKS = 2**24
"""Blocks of a launch, each of which has a number in memory."""
MAX_SHARED_TOGETHER = 2**28
"""Bytes of shared memory of the blocks that run at once where they may wait for each other; an H100 has 30 MB."""


class SimulatorError(MessageOnly, Exception):
    """The simulator itself failed. It is none of the errors that a wrong kernel or a wrong answer raises."""

    def __init__(self, kernel: str, error: Exception) -> None:
        super().__init__(
            f"the simulator failed while it ran {kernel}: {type(error).__name__}: {error}. This is a mistake in the "
            "simulator, not in the kernel. Please report it, with the kernel's text"
        )


class Ended(Exception):
    """A launch that whoever watches it has ended."""


def launch(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence,
    shared_mem: int = 0,
    max_steps: int | None = None,
    seed: int | None = None,
    cooperative: bool = False,
    in_turn: str | None = None,
    dependent: bool = False,
    gpu: str | Gpu = H100,
) -> Report:
    """Run a kernel over the whole grid and report what was found.

    `args` are NumPy arrays (contiguous, in C or Fortran order; changed in place, as a launch would), None for a null
    pointer, and NumPy scalars of the parameters' sizes. `shared_mem` is dynamic shared memory in bytes. `max_steps`
    ends a launch after so much work (see work.py), and by that alone; by default one that does not get on ends after at
    most about 15 seconds.
    `seed` chooses another legal order of the warps. `cooperative`: all blocks run at once, so that grid.sync() of
    cooperative groups may wait for them. `in_turn`: each block (each cluster) begins when the one before has ended,
    from the first one "up" or from the last one "down". A GPU promises no order of blocks that do not wait for others.
    `dependent`: on a GPU the launch may begin before the kernel before it has ended, and each block waits for that one.

    Raises LaunchError before anything runs, and SimulatorError where the simulator itself fails. A hazard never raises;
    one that stops the kernel is the last in the report. An access out of bounds, or a misaligned one, does not: it has
    no effect, and what is read there is zero.
    """
    grid, block = _three(grid, "grid"), _three(block, "block")
    _check_whole(max_steps or 0, "max_steps", "a whole number, or None")
    _check_whole(seed or 0, "seed", "a whole number, 0 or more, or None")
    _check_limits(grid, block, kernel, shared_mem)
    _check_turns(in_turn, cooperative)
    return launch_bound(
        kernel,
        grid,
        block,
        bind(kernel, args),
        shared_mem,
        Budget(max_steps),
        Flags(seed, cooperative, in_turn, dependent),
        gpu=find_gpu(gpu),
    )


def launch_bound(
    kernel: Kernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    bound: Bound,
    shared_mem: int = 0,
    budget: Budget | None = None,
    flags: Flags = PLAIN,
    watch: Callable[[Machine, int, int], None] | None = None,
    counted: bool = True,
    gpu: Gpu = H100,
    registers: Callable[[], int] | None = None,
    heap: Heap | None = None,
    textures: Mapping[int, Texture] = NO_TEXTURES,
    asked: list[Asked] | None = None,
) -> Report:
    """The same with parameters that are bytes already, and with dimensions that were checked. `watch(machine, done,
    together)` hears before each batch of blocks how many have ended, and how many begin now; an Ended that it raises
    ends the launch. Without `counted` the report has no counters and no events, and comes sooner. `registers` of a
    thread on that GPU, if somebody knows better than NVRTC. `heap`: one that other launches have as well, among
    `bound.others`. `textures`: by what stands for the object of each.
    `asked` gets the launches that the kernel asks for, which the caller runs."""
    budget = budget or Budget(None)
    blocks = math.prod(grid)
    space = _room(kernel, blocks, block, shared_mem, flags.cooperative, gpu, registers)
    if flags.cooperative and space:
        raise LaunchError(f"{space.refuses(blocks)}: it refuses the launch (too large)")
    batch = _blocks_at_once(kernel.code, math.prod(block), shared_mem, flags.cooperative)
    batch = math.prod(kernel.code.program.cluster) if flags.in_turn else batch
    if flags.cooperative and blocks > batch:
        raise LaunchError(
            f"a cooperative launch of {blocks:,} blocks, and the simulator holds the local arrays of {batch:,}: "
            "simulate a smaller one"
        )

    shared = min(batch, blocks) * (kernel.code.program.dynamic_at + shared_mem)
    if shared > MAX_SHARED_TOGETHER:
        raise LaunchError(
            f"its blocks may wait for each other, so they run at once, and their shared memory takes {shared:,} bytes; "
            f"the simulator holds at most {MAX_SHARED_TOGETHER:,}. Simulate fewer blocks"
        )

    with interruptible(f"the launch of {kernel.name}"):
        state = _start(
            kernel,
            [grid],
            block,
            [bound],
            shared_mem,
            budget,
            flags,
            space,
            watched=0 if counted else NOBODY,
            heap=heap,
            textures=textures,
            asked=asked,
        )
        events = _run(state, blocks, batch, watch)
    counters, output = state.counters.table(kernel.source), "".join(state.output)
    log = state.log
    return Report(kernel, grid, block, log.sorted(), counters, events, output, shared_mem, log.notes)


def clean_side_by_side(
    kernel: Kernel,
    launches: Sequence[tuple[Sequence[int], Sequence]],
    block: Sequence[int],
    shared_mem: int = 0,
    max_steps: int | None = None,
) -> list[list[Event]] | None:
    """Run these launches of a kernel, each a grid and its args, each on arrays of its own, which are changed as by
    `launch`: None if there is a finding, else what each warp of the first one's block 0 did, as in `Report.events`, but
    without wavefronts and sectors. Much quicker than one launch after the other: their blocks are lanes of one machine,
    and nothing is counted. `max_steps` is that of all together. Where the answer is None some launches may not have
    ended; `launch` says what is wrong.

    Raises LaunchError before anything runs, and SimulatorError.
    """
    block, grids = _three(block, "block"), [_three(grid, "grid") for grid, _ in launches]
    bounds: list[Bound] = []
    for grid, (_, args) in zip(grids, launches, strict=True):
        _check_limits(grid, block, kernel, shared_mem)
        bounds.append(bind(kernel, args, bounds[-1].buffers if bounds else ()))
    crowded = any(_room(kernel, math.prod(grid), block, shared_mem, False, H100) for grid in grids)
    if crowded or _writes_variables(kernel):  # they would share these
        reports = (launch(kernel, grid, block, args, shared_mem, max_steps) for grid, args in launches)
        ran = list(takewhile(lambda report: report.ok, reports))
        return ran[0].events if len(ran) == len(launches) else None
    state = _start(kernel, grids, block, bounds, shared_mem, Budget(max_steps), counted=False)
    with interruptible(f"the launches of {kernel.name}"):
        events = _run(state, len(state.blocks), _blocks_at_once(kernel.code, math.prod(block), shared_mem))
    return None if state.log.sorted() else events


def _writes_variables(kernel: Kernel) -> bool:
    first = len(kernel.params)
    return any(kernel.code.writes(first + number) for number in range(len(kernel.variables)))


def _start(
    kernel: Kernel,
    grids: list[tuple[int, int, int]],
    block: tuple[int, int, int],
    bounds: list[Bound],
    shared_mem: int,
    budget: Budget,
    flags: Flags = PLAIN,
    space: Room | None = None,
    watched: int = 0,
    counted: bool = True,
    heap: Heap | None = None,
    textures: Mapping[int, Texture] = NO_TEXTURES,
    asked: list[Asked] | None = None,
) -> LaunchState:
    """A launch, or several side by side, before the first instruction."""
    code, program = kernel.code, kernel.code.program
    variables = [(each,) for each in kernel.variables]
    of_each = zip(*(bound.buffers_of for bound in bounds), strict=True)
    heap = heap or _heap(code)
    heap.settle()
    others = sum((bound.others for bound in bounds), ())
    others += (heap.buffer,) * (heap.buffer.size > 0 and heap.buffer not in others)
    owners = [*(sum(each, ()) for each in of_each), *variables, others]  # in the order of code.roots
    barrier = Buffer(WORKSPACE, Bytes(np.zeros(8, np.uint8)), "the grid's barrier", 4, 0, 2)
    workspace = barrier if flags.cooperative else None
    buffers = [*bounds[-1].buffers, *kernel.variables, *([workspace] if workspace else [])]
    buffers += [heap.buffer] * (heap.buffer not in buffers)
    log = HazardLog()
    if names := _begin_together(program):
        log.note(
            f"{names} are extern __shared__ arrays: all of them begin at the same address, so what is written to one "
            "changes the other. For arrays side by side declare one, and begin the next behind it: "
            "float* b = a + elements_of_a"
        )
    return LaunchState(
        code=code,
        grids=grids,
        block=block,
        params=np.stack([bound.params for bound in bounds]),
        memory=GlobalMemory(buffers, _reachable(code, owners)),
        shared_bytes=program.dynamic_at + shared_mem
        if shared_mem
        else program.reserved_shared + program.static_shared,
        dynamic_shared=shared_mem,
        shapes=lambda: kernel.shapes,
        registers=registers_at_launch(program),
        log=log,
        counters=Counters(code.instructions) if counted and watched != NOBODY else NoCounters(),
        budget=budget.anew(),
        heap=heap,
        textures=textures,
        asked=asked,
        flags=flags,
        workspace=workspace,
        room=space,
        watched=watched,
        granules=_granules(code, owners),
    )


def _heap(code: Code) -> Heap:
    """Of one launch. It has no bytes where the kernel asks for none."""
    size = ROOM if code.allocates else 0
    memory, written = Bytes(np.zeros(size, np.uint8)), Bytes(np.zeros(size, np.uint8))
    return Heap(Buffer(HEAP, memory, "the memory of malloc and new", 1, 0, size, written))


def _begin_together(program: ptx.Program) -> str:
    """The names of the dynamic shared arrays, if there are several."""
    names = [plain_name(each.name) for each in program.shared if not each.size]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else ""


def _reachable(code: Code, owners: list[tuple[Buffer, ...]]) -> dict[int, list[Buffer]]:
    """For each instruction the only buffers that its addresses may name, where these come from arrays alone."""
    by_roots = {}  # a program has many addresses, and few sets of arguments that they come from
    for roots in set(code.roots.values()):
        numbers = [number for number in range(len(owners)) if roots >> number & 1]
        if roots >= 0 and all(owners[number] for number in numbers):
            by_roots[roots] = list(dict.fromkeys(owner for number in numbers for owner in owners[number]))
    return {pc: by_roots[roots] for pc, roots in code.roots.items() if roots in by_roots}


def _granules(code: Code, owners: list[tuple[Buffer, ...]]) -> dict[Buffer, int]:
    """For each buffer that the kernel may write the smallest access to it."""
    found: dict[Buffer, int] = {}
    written = {owner for number, several in enumerate(owners) if code.writes(number) for owner in several}
    for number, owner in ((number, owner) for number, several in enumerate(owners) for owner in several):
        if owner in written:
            found[owner] = min(found.get(owner, 16), code.granule(number))
        elif code.stores_in_bulk:
            found[owner] = min(found.get(owner, 16), code.granule(number), owner.itemsize)
    return found


def _run(state: LaunchState, blocks: int, batch: int, watch: Callable | None = None) -> list[list[Event]]:
    """Run all blocks; return the events of the watched one."""
    events: list[list[Event]] = []
    with np.errstate(all="ignore"):
        try:
            for first in range(0, blocks, batch):
                together = min(batch, blocks - first)
                machine = Machine(state, first, together)
                if watch:
                    watch(machine, first, together)
                if machine.recorder.on:
                    events = machine.recorder.events
                machine.run()
                state.budget.next_blocks()
                # Its parts refer to it: do not leave their large arrays to the garbage collector.
                vars(machine).clear()
        except Fault:
            pass  # it is in the log
        except (MemoryError, RecursionError, Ended):
            raise
        except Exception as error:
            raise SimulatorError(state.code.program.name, error) from error
    return events


def _room(
    kernel: Kernel,
    blocks: int,
    block: tuple[int, int, int],
    shared_mem: int,
    cooperative: bool,
    gpu: Gpu,
    registers: Callable[[], int] | None = None,
) -> Room | None:
    """What the GPU has for a launch whose blocks may wait for each other; None where that is no question."""
    program = kernel.code.program
    if not (cooperative or kernel.code.blocks_may_wait):
        return None
    shared, cluster = program.static_shared + shared_mem, math.prod(program.cluster)
    return room(gpu, blocks, math.prod(block), shared, cluster, registers or partial(_registers, kernel, gpu))


def _registers(kernel: Kernel, gpu: Gpu) -> int:
    """Of a thread; the fewest where there is nobody to ask, so that no block seems to lack its place."""
    try:
        return resources(kernel, gpu.arch).registers
    except (CompileError, ToolMissing, ValueError):
        return 1


def _blocks_at_once(code: Code, threads: int, shared_mem: int, cooperative: bool = False) -> int:
    program = code.program
    shared = SHARED_AT_ONCE // (program.static_shared + shared_mem + 1)
    local = LOCAL_AT_ONCE // (threads * program.local_bytes + 1)
    together = cooperative or code.blocks_may_wait
    lanes = LANES_OF_A_GPU if together else LANES_AT_ONCE
    blocks = min(lanes // threads, local, lanes if together else shared)
    cluster = math.prod(program.cluster)
    return max(blocks // cluster, 1) * cluster


def _three(dims: int | Sequence[int], what: str) -> tuple[int, int, int]:
    given = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not 1 <= len(given) <= 3 or not all(isinstance(d, (int, np.integer)) for d in given):
        raise LaunchError(f"the {what} is {given!r}; it must be one to three integers, for example (4, 2)")
    x, y, z, *_ = (*map(int, given), 1, 1)
    return x, y, z


def _check_whole(value: object, name: str, words: str) -> None:
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise LaunchError(f"{name} is {value!r}; it is {words}")


def _check_limits(grid: tuple, block: tuple, kernel: Kernel, shared_mem: int) -> None:
    threads = block[0] * block[1] * block[2]
    if min(grid) < 1 or min(block) < 1:
        raise LaunchError(f"grid {grid} and block {block}: every number must be at least 1")
    if threads > MAX_THREADS or any(b > most for b, most in zip(block, MAX_BLOCK, strict=True)):
        raise LaunchError(f"a block of {block} has {threads:,} threads; {MOST_OF_A_BLOCK}")
    if any(g > most for g, most in zip(grid, MAX_GRID, strict=True)):
        raise LaunchError(f"a grid of {grid} is too large; at most {MAX_GRID} in x, y, z")
    _check_whole(shared_mem, "shared_mem", "a number of bytes, a whole one, 0 or more")
    total = threads * grid[0] * grid[1] * grid[2]
    if total > MAX_SIMULATED:
        raise LaunchError(
            f"a grid of {grid} with blocks of {block} has {total:,} threads; the simulator takes at most "
            f"{MAX_SIMULATED:,}, because more would run for hours. Simulate a smaller problem"
        )
    if math.prod(grid) > MAX_BLOCKS:
        raise LaunchError(
            f"a grid of {grid} has {math.prod(grid):,} blocks; the simulator takes at most {MAX_BLOCKS:,}. Simulate a "
            "smaller problem, or use larger blocks"
        )
    _check_clusters(kernel, grid)
    _check_memory(kernel.code.program, shared_mem)
    _check_threads(kernel, block, threads, shared_mem)


def _check_turns(in_turn: str | None, cooperative: bool) -> None:
    if in_turn not in (None, "up", "down"):
        raise LaunchError(f'in_turn is {in_turn!r}; it is "up", "down" or None')
    if in_turn and cooperative:
        raise LaunchError("a cooperative launch runs all blocks at once, and in_turn one after the other")


def _check_clusters(kernel: Kernel, grid: tuple) -> None:
    cluster = kernel.code.program.cluster
    if math.prod(cluster) > MOST_BLOCKS:
        raise LaunchError(
            f"{kernel.name} has clusters of {cluster} blocks; a cluster has at most {MOST_BLOCKS} blocks on an H100"
        )
    for axis, of_grid, of_cluster in zip("xyz", grid, cluster, strict=True):
        if of_grid % of_cluster:
            blocks, enough = "block" if of_grid == 1 else "blocks", -(-of_grid // of_cluster) * of_cluster
            raise LaunchError(
                f"the grid has {of_grid} {blocks} along {axis}, and {kernel.name} has clusters of {of_cluster} along "
                f"it: a GPU refuses the launch. Make it a multiple of {of_cluster}, for example {enough}"
            )


def assemble(kernel: Kernel, block: Sequence[int], shared_mem: int = 0) -> None:
    """What a GPU asks of a launch and the simulator does not need: that the assembler accepts the PTX, and that a block
    with its registers fits. Raises CompileError or LaunchError."""
    threads = math.prod(block)
    used = launch_resources(meant_for(kernel), kernel, threads, shared_mem)
    if not used.occupancy.blocks:
        raise LaunchError(
            f"{kernel.name} takes {used.registers} registers a thread, and with {threads} threads a block more than "
            f"the {REGISTERS:,} that there are: a GPU refuses the launch (out of resources). Use smaller blocks, or "
            f"__launch_bounds__({threads}) before the kernel's name"
        )


def _check_threads(kernel: Kernel, block: tuple, threads: int, shared_mem: int) -> None:
    program = kernel.code.program
    if program.only_block not in (None, block):
        made_for, given = map(size_in_words, (program.only_block or block, block))
        raise LaunchError(
            f"{kernel.name} is made for blocks of {made_for} threads (.reqntid in its PTX), and the block is {given}: "
            "a GPU refuses the launch. Give it that block"
        )
    if program.most_threads is not None and threads > program.most_threads:
        raise LaunchError(
            f"{kernel.name} has __launch_bounds__ of {program.most_threads} threads a block, and the block has "
            f"{threads}: a GPU refuses the launch (invalid value)"
        )
    # The assembler takes seconds: it is asked where a thread may have so many registers that a block does not fit.
    likely = 2 * sum(program.register_bits) // 32  # PTX has a register for each value; unrolling makes more
    if program.most_threads is None and threads * min(likely, MAX_REGISTERS) > REGISTERS:
        assemble(kernel, block, shared_mem)


def size_in_words(sizes: Sequence[int]) -> str:
    """128, or 16 x 8."""
    dims = max((axis for axis, size in enumerate(sizes) if size != 1), default=0) + 1
    return " x ".join(str(size) for size in sizes[:dims])


def _check_memory(program: ptx.Program, shared_mem: int) -> None:
    static = program.static_shared
    if static > SHARED_BY_DEFAULT:
        raise LaunchError(
            f"the __shared__ arrays of the kernel take {static} bytes; arrays of a fixed size may take at most "
            f"{SHARED_BY_DEFAULT}. Use smaller tiles, or dynamic shared memory: declare "
            "extern __shared__ float name[]; and give the launch shared_mem=..., in bytes"
        )
    if static + shared_mem > H100.shared_block:
        raise LaunchError(
            f"the block would use {static + shared_mem} bytes of shared memory ({static} static, "
            f"{shared_mem} dynamic); a block has at most {H100.shared_block}. Use smaller tiles or fewer stages"
        )
    if program.local_bytes > MAX_LOCAL:
        raise LaunchError(
            f"the arrays that each thread declares for itself take {program.local_bytes} bytes; a thread has at most "
            f"{MAX_LOCAL}. Keep large arrays in global memory, and pass them to the kernel"
        )
