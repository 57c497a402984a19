"""Any kernel with its launch: what the playground starts with, and how it runs a text."""

import hashlib
import math
from collections.abc import Callable, Mapping

import numpy as np

from course_lib import Gemm, Launch, cp, edited, simulate
from course_lib.check.attention import Attention
from course_lib.check.judged import Judged
from course_lib.check.verdict import CheckFailed
from course_lib.lessons import sources
from cupy_or_sim import device
from ptxsim.compiler import cache, elsewhere, nvrtc

from . import blame, outputs

LARGEST = 1 << 22
"""Elements of one array."""
LARGEST_IN_ALL = 4 * LARGEST
"""Elements of all of them."""
MOST_AXES = 8
SHOWN = 8
"""Of an array that a launch changed, so many values are shown."""
SMALL = {
    "saxpy": ("2", "64", 0, "float32 = 2\nfloat32 128 arange\nfloat32 128 ones\nint32 = 100"),
    "mirror": ("2", "256", 0, "float32 512 arange\nfloat32 512 zeros"),
    "round_trip": ("2", "256", 0, "float32 2048 arange\nfloat32 2048 zeros"),
    "hand_over": ("1", "64", 0, "float32 2048 arange\nfloat32 2048 zeros"),
    "batch": (
        "5", "128", 3 * 128 * 64 * 2,
        "float16 21600 ones\nfloat16 28080 ones\nfloat16 39000 zeros\nint32 = 3\nint32 = 100\nint32 = 130\nint32 = 72",
    ),
}  # fmt: skip
"""Kernels that are no GEMM: grid, block, shared memory, arguments."""
BREAKS = (
    ("01_mainloop", "tiled", "a barrier less: the k-tile is complete",
     "__syncthreads();                              // the k-tile is complete", ""),
    ("02_producer_consumer", "early_copy", "a barrier less: all have read it",
     "__syncthreads();                              // all have read it", "//"),
    ("02_producer_consumer", "round_trip", "without its barrier", "__syncthreads();", "//"),
    ("02_producer_consumer", "specialised", "a slot is filled too early",
     "if (k_tile >= SLOTS) named_sync<THREADS>(EMPTY + slot);", "", "deeper/02_slots"),
    ("03_double_buffer", "two_buffers", "no wait", "wait_all();", ""),
    ("03_double_buffer", "two_buffers", "no barrier", "__syncthreads();", ""),
    ("07_hopper", "ring", "the wrong parity", "(turn + 1) % 2", "turn % 2"),
)  # fmt: skip
"""Lesson, kernel, what is missing, and the edit that takes it out: the lessons' own, so they need no compiler. Behind
that the notebook that has the edit, where it is another one."""


OF_A_LINK = (
    "This report is of PTX that came with the link. Nobody compiled the text above here, so it may be the PTX of\n"
    "another text, and what is wrong in yours may be missing below. `make serve` has a compiler, and so has Compiler\n"
    "Explorer.\n"
)


class AskedWrong(ValueError):
    """A launch or its arguments cannot be read; the message says where and what is allowed."""


def kernels() -> list[dict]:
    """Every kernel of the lessons, and behind it its Breaks: title, name, text, launch; and the notebooks with which
    its compiled text ships."""
    found = []
    for path in sources.with_kernels(sources.NOTEBOOKS):
        for name, (source, below) in sources._kernel_cells(path.stem).items():
            lesson = path.relative_to(sources.NOTEBOOKS).with_suffix("").as_posix()
            as_given = {"lesson": lesson, "name": name, "launch": _launch_of(path.stem, name, below)}
            as_given["texts"] = [lesson]
            found.append({**as_given, "title": name, "source": source})
            found += [
                {
                    **as_given,
                    "title": f"{name}: {what}",
                    "source": edited(source, (old, new)),
                    "texts": [lesson, *others],
                }
                for of, kernel, what, old, new, *others in BREAKS
                if (of, kernel) == (path.stem, name)
            ]
    return found


def _launch_of(lesson: str, name: str, below: Launch | None) -> dict:
    """The fields of the page, for the launch below a kernel in its lesson."""
    if below is None:
        grid, block, shared_mem, arguments = SMALL[name]
        return {"kind": "plain", "grid": grid, "block": block, "shared_mem": shared_mem, "args": arguments}
    dtype = "float32" if lesson < "04" else "float16"
    threads = ", ".join(map(str, below.block))
    return {
        "kind": "gemm", "dtype": dtype, "tile": ", ".join(map(str, below.tile)), "threads": threads,
        "shared_mem": below.shared_mem, "blocks": below.blocks or 0,
    }  # fmt: skip


def run(source: str, name: str, launch: Mapping, check: bool, ptx: str = "", **_: object) -> dict:
    """Launch a text once, or check it at all sizes: outputs, reports, blamed lines; PTX that does not ship; and whether
    what ran is `ptx`, which came with a link and has to do where nobody compiles the text."""
    options = device.options_for(source)
    lent = bool(ptx) and _nobody_compiles(source, options)
    with outputs.collected() as said, blame.noted() as reports:
        if lent:
            print(OF_A_LINK)
        taken = _of_link(source, options, ptx) if lent else options
        kernel = cp.RawKernel(source, name, options=taken)
        try:
            _checked(kernel, source, launch) if check else _launched(kernel, source, launch)
        except CheckFailed as failed:
            print(failed)
        except Exception as error:
            said.fail(error)
    bad = blame.bad(reports)
    pages = [report._repr_html_() for report in bad]
    return {
        "outputs": said,
        "reports": pages,
        "blamed": blame.lines(bad),
        "ptx": _not_shipped(source, options),
        "lent": lent,
    }


def _nobody_compiles(source: str, options: tuple[str, ...]) -> bool:
    """Whether a text neither ships nor has a compiler here that takes it, or refuses it."""
    try:
        nvrtc.compile_ptx(source, (), options)
    except nvrtc.NvrtcMissing:
        return True
    except nvrtc.CompileError:
        pass  # said when the kernel is launched
    return False


def _of_link(source: str, options: tuple[str, ...], ptx: str) -> tuple[str, ...]:
    """Options with which this text compiles to this PTX. Nobody else has them: the same text asks a compiler again."""
    marked = (*options, f"-DPTX_OF_A_LINK=0x{hashlib.sha256(ptx.encode()).hexdigest()[:16]}")
    elsewhere.use(source, marked, ptx)
    return marked


def _not_shipped(source: str, options: tuple[str, ...]) -> str:
    """The PTX of a text that somebody compiled for this page; "" of one that ships, or that nobody compiled."""
    wanted = nvrtc.wanted(source, options)
    if cache.find(cache.key_of(*wanted)) is not None:
        return ""
    return elsewhere.known(wanted)


def _checked(kernel: object, source: str, launch: Mapping) -> None:
    if launch["kind"] != "gemm":
        raise AskedWrong("only a GEMM has sizes to check; of another kernel read the report of its launch")
    print(_problem(source, launch).check(kernel, _read(launch)))


def _launched(kernel: object, source: str, launch: Mapping) -> None:
    if launch["kind"] == "gemm":
        _problem(source, launch).one_block(kernel, _read(launch))
        return
    arguments = arguments_of(launch["args"])
    before = [each.copy() for each in arguments]
    grid, block = numbers(launch["grid"], "grid"), numbers(launch["block"], "block")
    report = simulate(kernel, grid, block, tuple(arguments), shared_mem=int(launch["shared_mem"] or 0))
    print(report.output + (f"hazards: {report.brief()}" if not report.ok else str(report)))
    for number, (was, now) in enumerate(zip(before, arguments, strict=True), 1):
        if isinstance(now, np.ndarray) and not np.array_equal(was, now, equal_nan=now.dtype.kind == "f"):
            print(f"argument {number} is now {_first(now)}")


def _first(array: np.ndarray) -> str:
    flat = array.ravel(order="K")
    more = f" … ({flat.size} in all)" if flat.size > SHOWN else ""
    return " ".join(f"{value:g}" for value in flat[:SHOWN].astype(float)) + more


def _problem(source: str, launch: Mapping) -> Judged:
    """Attention for a kernel that takes its numbers of queries and keys, else a GEMM."""
    if "int queries, int keys" in source:
        return Attention(16, 4224, 4096)  # 64, 128 and 192 divide it
    return Gemm(4096, 4096, 4096, launch["dtype"])


def _read(launch: Mapping) -> Launch:
    threads = numbers(launch["threads"], "threads")
    return Launch(
        tile=numbers(launch["tile"], "tile", 3),
        threads=threads if len(threads) > 1 else threads[0],
        shared_mem=int(launch["shared_mem"] or 0),
        blocks=int(launch["blocks"] or 0) or None,
    )


def numbers(text: str, what: str, count: int | None = None) -> tuple[int, ...]:
    """ "128, 128, 8" as whole numbers. Raises AskedWrong."""
    parts = str(text).replace("x", ",").split(",")
    try:
        found = tuple(int(part) for part in parts)
    except ValueError:
        raise AskedWrong(f"{what} is {text!r}; it is whole numbers with commas, such as 64, 4") from None
    if count not in (None, len(found)):
        raise AskedWrong(f"{what} is {text!r}; it is {count} whole numbers")
    return found


def arguments_of(text: str) -> list:
    """One argument a line: `float32 1024 arange`, `float32 64x32 random 7`, `int32 = 5`. Raises AskedWrong."""
    lines = [(number, line.split("#")[0].split()) for number, line in enumerate(text.splitlines(), 1)]
    sizes_and_makers = [_argument(number, *words) for number, words in lines if words]
    size = sum(size for size, _ in sizes_and_makers)  # before any of them is made
    if size > LARGEST_IN_ALL:
        raise AskedWrong(f"the arrays have {size:,} elements; all together may have {LARGEST_IN_ALL:,}")
    return [make() for _, make in sizes_and_makers]


def _argument(line: int, kind: str, *rest: str) -> tuple[int, Callable[[], object]]:
    """How many elements an argument has, of a value none, and what makes it."""
    try:
        dtype = np.dtype(kind)
        if dtype.kind not in "fiu":
            raise TypeError(kind)
        if rest[0] == "=":
            value = dtype.type(float(rest[1]) if dtype.kind == "f" else int(rest[1], 0))
            return 0, lambda: value
        shape = tuple(int(each) for each in rest[0].split("x"))
        size = math.prod(shape)
        if not 0 < size <= LARGEST or len(shape) > MOST_AXES:
            raise AskedWrong(
                f"argument in line {line}: an array has 1 to {LARGEST:,} elements, and at most {MOST_AXES} axes"
            )
        fill, seeds = FILLS[rest[1]], [int(seed) for seed in rest[2:3]]
        if min(seeds, default=0) < 0:
            raise ValueError(seeds)
        return size, lambda: fill(shape, *seeds).astype(dtype)
    except AskedWrong:
        raise
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        given = " ".join((kind, *rest))
        raise AskedWrong(
            f"argument in line {line}: {given!r} is none. An array is TYPE SHAPE FILL, such as float32 64x32 random 7 "
            f"({', '.join(FILLS)}; the number is a seed); a value is TYPE = NUMBER, such as int32 = 5"
        ) from None


FILLS = {
    "zeros": lambda shape, _=0: np.zeros(shape),
    "ones": lambda shape, _=0: np.ones(shape),
    "nan": lambda shape, _=0: np.full(shape, np.nan),
    "arange": lambda shape, _=0: np.arange(np.prod(shape)).reshape(shape),
    "integers": lambda shape, seed=0: np.random.default_rng(seed).integers(-4, 5, shape),
    "random": lambda shape, seed=0: np.random.default_rng(seed).standard_normal(shape),
}
"""What an array begins with."""
