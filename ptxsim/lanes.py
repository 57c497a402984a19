"""What the rooms below `machine/` see of a machine: its lanes, their registers, and the launch.

A parameter `machine` is a whole `Machine` (machine/machine.py); its type says how much of it is used there. Each room
adds what it brings: `Observed` (observe/counters.py), `Reporting`, `Watched` and `Explained` (races/: hazards.py,
shadow.py, findings.py), `Synchronising`, `Memories` and `Hopper` (units/: barriers.py, access.py, mbarriers.py). The
types of what is in a room above say only what is asked of it.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .ground.asked import Asked
from .ground.heap import Heap
from .ground.texture import Texture
from .ground.work import Budget
from .ptx.flow import Flow
from .ptx.locks import Lock
from .ptx.program import Instruction, Program, Variable, Where
from .ptx.updates import Update


class Decoded(Protocol):
    """A program, and what was found out about it before it runs (`Code`, machine/decode.py)."""

    program: Program
    instructions: tuple[Instruction, ...]
    meeting_points: dict[int, frozenset[int]]
    """By the pc of a barrier, where the ways around it and through it meet again."""
    in_async_proxy: np.ndarray
    """By pc, whether copy engine or tensor cores reach memory on their own by the instruction."""
    uses_async_proxy: bool
    """Whether any does."""

    shared_arrays: dict[int, Variable]
    """By pc, the shared array that the address comes of, where that is certain."""

    flow: Flow
    """Its basic blocks, and the ways between them."""

    @property
    def parted(self) -> list[frozenset[int]]:
        """For each branch that may part the threads of a block the basic blocks that it decides about."""

    @property
    def locks(self) -> tuple[Lock, ...]:
        """What takes locks and gives them back."""

    @property
    def waits(self) -> frozenset[int]:
        """The loads that only wait for a value, by pc."""

    @property
    def polls(self) -> frozenset[int]:
        """The same, and the atomics by which a loop goes on or ends."""

    @property
    def updates(self) -> tuple[Update, ...]:
        """Reads of a place whose threads write back what they made of it."""

    @property
    def first_guesses(self) -> frozenset[int]:
        """The loads with which an atomic of a header begins, by pc."""

    @property
    def masks_by_chance(self) -> Mapping[int, int]:
        """By the pc of an activemask, the instruction whose mask it makes."""

    @property
    def plain_loads(self) -> frozenset[int]:
        """The weak loads, by pc, but for those of parameters and constants."""

    @property
    def carried(self) -> frozenset[int]:
        """The loads, by pc, that only carry values within shared memory."""

    @property
    def of_structs(self) -> frozenset[int]:
        """The loads, by pc, that only carry what may lie between two members of a struct."""

    @property
    def follows_loads(self) -> bool:
        """Whether it is known what becomes of bytes that nobody has written, and a load has found."""

    @property
    def order_matters(self) -> bool:
        """Whether the order of the warps may change what the program does."""

    @property
    def looked_at(self) -> frozenset[int]:
        """The registers whose values the program looks at, by number."""

    def where(self, pc: int) -> Where:
        """The source line of an instruction."""

    def leaves_no_trace(self, block: int) -> bool:
        """Whether the basic block that begins there changes nothing but registers."""

    def is_overwritten(self, pc: int) -> bool:
        """Whether the copy engine may overwrite what this instruction of a thread reads in shared memory."""

    def is_barrier(self, pc: int) -> bool:
        """Whether it is an aligned barrier of a block."""


class Launched(Protocol):
    """A launch: one for all batches of its blocks (`LaunchState`, machine/launched.py)."""

    block: tuple[int, int, int]
    """Threads of a block."""
    grids: list[tuple[int, int, int]]
    """Blocks of each launch, of those side by side."""
    registers: int | None
    """Of a thread at the launch, in a kernel with setmaxnreg; None where nobody knows or needs it."""
    budget: Budget
    output: list[str]
    """What printf wrote, call by call."""
    printed: int
    """Characters of it."""
    heap: Heap
    """What malloc and new give."""
    textures: Mapping[int, Texture]
    """By what stands for the object of each."""
    asked: list[Asked] | None
    """The launches that the kernel asked for; None where nobody would run them."""
    begun: dict[int, Asked]
    """Those of which it has the buffer for the parameters, by its address."""

    @property
    def code(self) -> Decoded: ...

    def hurry(self, turns: int) -> None:
        """For so many turns all that run have waited for the clock: it goes quicker."""

    @property
    def needs_all_blocks(self) -> bool:
        """Whether the kernel asks for what only a cooperative launch has, and this is none."""

    @property
    def threads(self) -> int:
        """Of a block."""

    @property
    def cluster_size(self) -> int:
        """Blocks of a cluster; 1 without clusters."""

    @property
    def blocks(self) -> np.ndarray:
        """The number in its grid of each block, in the order in which they run."""

    @property
    def shadows(self) -> Mapping:
        """By buffer what watches it; only of buffers that were touched."""


class Lanes(Protocol):
    """Which lanes there are, and which of them are active: those that execute the instruction.

    Lanes are the threads of the resident blocks, numbered block after block. Where an array has one entry a lane, its
    shape is (lanes,); a value of the active lanes has shape (active lanes,), or (1,) when all hold the same.
    """

    idx: np.ndarray | None
    """The active lanes, rising; None: all. An instruction that works on some of them for a while sets it."""
    lanes: int
    """How many there are."""
    every_lane: np.ndarray
    """Their numbers."""
    alive: np.ndarray
    """Which of them have not exited: one bool a lane."""
    thread_of: np.ndarray
    """The number of each lane in its block."""
    block_of: np.ndarray
    """The block of each lane, counted among the resident ones."""
    warp_of: np.ndarray
    """The warp of each lane, numbered block after block."""
    blocks: np.ndarray
    """The number in the grid of each resident block."""
    warps: int
    """Of all resident blocks."""
    warps_per_block: int

    @property
    def launch(self) -> Launched: ...

    def active(self) -> np.ndarray:
        """Numbers of the active lanes."""

    def count(self) -> int:
        """How many are active."""

    def params(self, at: int) -> np.ndarray:
        """The parameters of the launch of one of the active lanes, as bytes."""

    def parameter(self, first: int, size: int) -> np.ndarray:
        """Bytes of the parameters: a unit of `size` bytes for each active lane, or one if all have the same."""

    def parameters_at(self, places: np.ndarray, size: int) -> np.ndarray:
        """`size` bytes of the parameters from each of these places on: (places, bytes)."""

    def active_warps(self) -> int:
        """How many warps have an active lane."""

    def all_lanes(self, lanes: np.ndarray | None) -> np.ndarray:
        """These lanes; every lane for None."""

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value for each active lane, also when all hold the same."""

    def work(self, amount: float) -> None:
        """Something takes so many steps of work (work.py) more than an instruction does."""


class Registers(Lanes, Protocol):
    """What the lanes' registers hold: for each register an array of all lanes, or of one value that all have.

    Such an array is never changed in place, so the same array is the same values."""

    R: list[np.ndarray]
    """By the number of the register."""
    unset: list[np.ndarray]
    """The same before any instruction: a register that still holds this array was never written."""
    clean: list[bool]
    """By register: known to hold no subnormal float32."""
    fragments: dict[tuple, tuple]
    """Matrices of mma by their registers: which lanes, which arrays, the matrices (instructions/tensor.py)."""
    whole_warps: tuple | None
    """Active lanes that were found to be whole warps, and how many."""

    def special(self, name: str) -> np.ndarray:
        """A special register (`%tid.x`) of all lanes, or the one value of all."""

    def clock(self, pc: int) -> np.ndarray:
        """What the active lanes read of the clock (uint64): issued instructions."""
