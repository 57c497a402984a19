"""The pairs: how a kernel is launched, and what is right."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
Arrays = list[np.ndarray | np.generic]


@dataclass(frozen=True)
class Pair:
    """`arguments` gives arrays and numbers, the output last but for numbers; `wanted` what stands in it then."""

    name: str
    """Of its file."""
    where: str
    """Where it was mended, or is about to be."""
    fault: str
    kinds: tuple[str, ...]
    """Each of these names the fault in a way that leads to the mend;"""
    marks: tuple[str, ...]
    """at a line with one of these marks."""
    block: tuple[int, ...]
    arguments: Callable[[], Arrays]
    wanted: Callable[[Arrays], np.ndarray]
    grid: int = 1
    hopper: bool = True

    @property
    def output(self) -> int:
        return max(i for i, each in enumerate(self.arguments()) if isinstance(each, np.ndarray))

    @property
    def source(self) -> str:
        return (FOLDER / f"{self.name}.cu").read_text()

    @property
    def digest(self) -> str:
        """Of its text and the common one: a record belongs to just these."""
        return hashlib.sha256((self.source + (FOLDER / "common.cuh").read_text()).encode()).hexdigest()[:16]

    def options(self, fixed: bool) -> tuple[str, ...]:
        """For the compiler; ptxsim and CuPy take the same."""
        return (
            "--std=c++17",
            f"-I{FOLDER}",
            *(["-arch=sm_90a"] if self.hopper else []),
            *(["-DFIXED"] if fixed else []),
        )

    @property
    def lines(self) -> set[int]:
        """Those with one of the marks."""
        numbered = enumerate(self.source.splitlines(), 1)
        return {number for number, line in numbered if set(re.findall(r"//@(\w+)", line)) & set(self.marks)}


def integers(*shape: int, dtype: str = "f4", seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def unset(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


def rows(n: int, *out: int) -> Callable[[], Arrays]:
    """n rows of 128, an output, n."""
    return lambda: [integers(n, 128), unset(*out), np.int32(n)]


def tiles(n: int) -> np.ndarray:
    """n times 64 x 16 and 8 x 16 in float16, as wgmma reads them without a swizzle: 8 x 8 each in 128 bytes."""
    both = integers(n, 72, 16, dtype="f2")
    return both.reshape(n, 9, 8, 2, 8).transpose(0, 1, 3, 2, 4).reshape(n, 72, 16).copy()


def product(given: Arrays) -> np.ndarray:
    both = (
        np.asarray(given[0]).reshape(-1, 9, 2, 8, 8).transpose(0, 1, 3, 2, 4).reshape(-1, 72, 16).astype("f4")
    )
    return np.einsum("nik,njk->ij", both[:, :64], both[:, 64:])


def fragments() -> Arrays:
    """A of three steps as registers, four of 128 threads; B of eight steps as in `tiles`."""
    a, b = integers(3, 64, 16, dtype="f2"), integers(8, 8, 16, dtype="f2", seed=2)
    thread = np.arange(128)
    row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
    registers = [
        a[:, row + 8 * (e % 2)][:, thread, column + 8 * (e // 2)].view("u2").astype("u4")
        | a[:, row + 8 * (e % 2)][:, thread, column + 8 * (e // 2) + 1].view("u2").astype("u4") << 16
        for e in range(4)
    ]
    return [
        np.stack(registers, 1).copy(),
        b.reshape(8, 8, 2, 8).transpose(0, 2, 1, 3).copy().view("f4"),
        unset(64, 8),
        np.int32(3),
    ]


def of_fragments(_: Arrays) -> np.ndarray:
    a, b = integers(3, 64, 16), integers(8, 8, 16, seed=2)
    return np.einsum("nik,njk->ij", a, b[:3])


def skipping(given: Arrays) -> np.ndarray:
    mask, x = given[0], given[1]
    return (mask * x).sum(0)


def masks() -> Arrays:
    mask = integers(6, 128) * (np.arange(6) % 2)[:, None]
    return [mask.astype("f4"), integers(6, 128, seed=2), unset(128), np.int32(6)]


def scan(given: Arrays) -> np.ndarray:
    b, c, x = given[:3]
    state, out = np.zeros((128, 16), "f4"), []
    for i in range(len(x)):
        state = state / 2 + b[i] * x[i][:, None]
        out.append((state * c[i]).sum(1))
    return np.array(out)


def looked_up() -> Arrays:
    ids = np.random.default_rng(1).integers(0, 100, (5, 64)).astype("i4")
    return [ids, integers(100, 2), unset(5, 128), np.int32(5)]


def both_blocks(given: Arrays) -> np.ndarray:
    x = given[0][:, ::-1]
    return np.stack([x, 2 * x], 1)


def copies(n: int) -> Callable[[], Arrays]:
    return lambda: [integers(n, 32, 4), unset(32), np.int32(n)]


PAIRS = [
    Pair(
        "deepep_642", "DeepEP #642, merged", "threads read a slot, TMA overwrites it: no proxy fence",
        ("missing-proxy-fence",), ("read", "load"), (32,), rows(5, 32),
        lambda given: given[0].sum(0).reshape(4, 32).sum(0),
    ),
    Pair(
        "transformer_engine_2695", "TransformerEngine #2695, merged", "the same behind a barrier",
        ("missing-proxy-fence",), ("read", "load"), (128,), rows(4, 128), lambda given: np.abs(given[0]).max(0),
    ),
    Pair(
        "flash_kda_25", "FlashKDA #25, merged", "threads set zeros, TMA stores them: no proxy fence where no step runs",
        ("missing-proxy-fence",), ("write", "store"), (128,),
        lambda: [integers(1, 128), unset(128), np.int32(0)], lambda given: np.zeros(128),
    ),
    Pair(
        "deepep_657", "DeepEP #657, mended in #674", "a wait that leaves the store which still reads the stage",
        ("write-after-read",), ("load", "store"), (32,), rows(5, 5, 128), lambda given: given[0],
    ),
    Pair(
        "deepgemm_448", "DeepGEMM #448, open", "registers of A are loaded again under their wgmma",
        ("unwaited-wgmma",), ("piece", "fence"), (128,), fragments, of_fragments,
    ),
    Pair(
        "fuser_3561", "Fuser #3561, mended in #3616", "a slot is told to be free before its wgmma has read it",
        ("write-after-read",), ("load", "product"), (160,),
        lambda: [tiles(5), unset(64, 8), np.int32(5)], product,
    ),
    Pair(
        "tileops_1550", "TileOPs #1550, merged", "one thread waits for the store, the others refill its tile",
        ("write-after-read",), ("write", "store"), (128,), rows(3, 3, 128), lambda given: 2 * given[0],
    ),
    Pair(
        "tileops_1574", "TileOPs #1574, merged", "128 threads write, one stores: neither barrier nor proxy fence",
        ("read-after-write", "missing-proxy-fence"), ("write", "store"), (128,),
        lambda: [integers(3, 128), unset(3, 128)], lambda given: 2 * given[0], grid=3,
    ),
    Pair(
        "tilelang_3087", "tilelang #3087, merged", "one mbarrier awaited with the parity of a ring",
        ("unwaited-copy", "deadlock"), ("wait", "read"), (128,), rows(5, 128), lambda given: given[0].sum(0)[::-1],
    ),
    Pair(
        "sglang_32954", "sglang #32954, merged", "a block ends while its peer may still arrive at its mbarrier",
        ("exited-block",), ("arrive",), (128,), lambda: [integers(4, 128), unset(4, 128)],
        lambda given: given[0] + 1, grid=4,
    ),
    Pair(
        "humming_56", "humming #56, merged", "a multicast overwrites what the other block still reads",
        ("write-after-read", "write-after-write"), ("load", "read", "write"), (128,), rows(4, 4, 2, 128),
        both_blocks, grid=2,
    ),
    Pair(
        "cudnn_frontend_426", "cudnn-frontend #426, merged", "32 lanes write, one arrives at the mbarrier",
        ("read-after-write",), ("read", "write"), (64,), lambda: [integers(32), unset(32)],
        lambda given: given[0][::-1],
    ),
    Pair(
        "mlxcel_923", "mlxcel #923, merged", "results overwrite a tile that cp.async is still filling",
        ("unwaited-copy", "write-after-write"), ("write", "read", "copy"), (32,), copies(3),
        lambda given: given[0].sum((0, 2))[::-1], hopper=False,
    ),
    Pair(
        "llama_13294", "llama.cpp #13294, merged", "the next tile's table over the one that is read",
        ("write-after-read",), ("write", "read"), (128,), looked_up,
        lambda given: given[1][given[0]].reshape(5, 128), hopper=False,
    ),
    Pair(
        "llama_13469", "llama.cpp #13469, merged", "a barrier for some of the warps",
        ("barrier-divergence", "read-after-write"), ("barrier", "read"), (128,),
        lambda: [integers(128), unset(128)], lambda given: np.full(128, given[0].sum()), hopper=False,
    ),
    Pair(
        "llama_13742", "llama.cpp #13742, merged", "warps decide alone and overwrite what others decide by",
        ("write-after-read", "read-after-write", "barrier-divergence"), ("write", "read"), (128,), masks, skipping,
        hopper=False,
    ),
    Pair(
        "llama_24360", "llama.cpp #24360, merged", "a scan's next step over the one that is read",
        ("write-after-read",), ("write", "read"), (128,),
        lambda: [integers(4, 16), integers(4, 16, seed=2), integers(4, 128, seed=3), unset(4, 128), np.int32(4)],
        scan, hopper=False,
    ),
    Pair(
        "llama_10740", "llama.cpp #10740, merged", "all threads write to an array for 32",
        ("out-of-bounds",), ("write",), (128,), lambda: [integers(128), unset(32)],
        lambda given: np.full(32, given[0].sum()), hopper=False,
    ),
    Pair(
        "cutlass_386", "CUTLASS #386, merged", "the next tile where slower warps read the last one",
        ("write-after-read",), ("write", "read"), (16, 16),
        lambda: [integers(5, 16, 16), integers(5, 16, 16, seed=2), unset(5, 16, 16), np.int32(5)],
        lambda given: given[0] @ given[1], grid=2, hopper=False,
    ),
]  # fmt: skip
