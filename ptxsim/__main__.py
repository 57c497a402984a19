"""`python -m ptxsim check kernel.cu --kernel name --grid 4 --block 256 --arg ...`: run a kernel, say what is wrong.

Exit status: 0 without a hazard, 1 with one, 2 when the kernel could not run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import CompileError, Hazard, LaunchError, Report, compile, launch
from .compiler.cache import ToolMissing

CLEAN, HAZARDS, FAILED = range(3)
FILLS = ("random", "arange", "zeros", "ones", "nan")
_ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<shape>\d+(?:,\d+)*)\](?:=(?P<fill>.+))?")
_SCALAR = re.compile(r"(?P<dtype>[a-z]+\d+)=(?P<value>.+)")
ARGUMENT = (
    "one for each parameter, in order: an array float32[1024] or int32[16,64]=zeros, a number int32=5, or null. "
    f"Arrays are filled with {', '.join(FILLS)} (random is the rule) or from a .npy file: float32[64]=x.npy"
)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    try:
        source = Path(asked.file).read_text(encoding="utf-8")
        options = [f"-I{Path(asked.file).parent}", *asked.option]
        names = [] if re.fullmatch(r"\w+", asked.kernel) else [asked.kernel]
        args = [argument(text) for text in asked.arg]
        report = launch(
            compile(source, asked.kernel, options, names),
            asked.grid,
            asked.block,
            args,
            asked.shared,
            seed=asked.seed,
        )
    except (OSError, ValueError, CompileError, ToolMissing) as error:
        print(f"{asked.file}: {error}", file=sys.stderr)
        return FAILED
    print(report.output, end="")
    print("\n".join(lines(asked.file, report)))
    return CLEAN if report.ok else HAZARDS


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="ptxsim", description="Run CUDA kernels without a GPU, and find their races."
    )
    check = made.add_subparsers(required=True, metavar="check").add_parser(
        "check", help="run one kernel of a file, and print what is wrong with it"
    )
    check.add_argument("file", help="CUDA C++")
    check.add_argument("--kernel", required=True, help='its name, or a template\'s: "tile<float, 32>"')
    check.add_argument("--grid", type=dimensions, default=(1,), help="blocks: 4 or 4,2,1")
    check.add_argument("--block", type=dimensions, default=(32,), help="threads of a block: 256 or 16,16")
    check.add_argument("--shared", type=int, default=0, help="bytes of dynamic shared memory")
    check.add_argument("--arg", action="append", default=[], metavar="ARG", help=ARGUMENT)
    check.add_argument(
        "--option", action="append", default=[], metavar="OPT", help="of the compiler: --option=-DN=4"
    )
    check.add_argument("--seed", type=int, help="another legal order of the warps")
    return made


def dimensions(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def argument(text: str) -> np.ndarray | np.generic | None:
    """An argument as ARGUMENT says. Raises LaunchError."""
    if text == "null":
        return None
    if found := _ARRAY.fullmatch(text):
        return _array(
            _dtype(found["dtype"], text), dimensions(found["shape"]), found["fill"] or "random", text
        )
    if found := _SCALAR.fullmatch(text):
        return _dtype(found["dtype"], text).type(found["value"])
    raise LaunchError(f"--arg {text}: {ARGUMENT}")


def _dtype(name: str, text: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError:
        raise LaunchError(f"--arg {text}: NumPy has no type {name!r}; {ARGUMENT}") from None


def _array(dtype: np.dtype, shape: tuple[int, ...], fill: str, text: str) -> np.ndarray:
    if fill == "random":
        random = np.random.default_rng(0)
        return (
            random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 100, shape)
        ).astype(dtype)
    if fill == "arange":
        return np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    if fill in FILLS:
        return np.full(shape, {"zeros": 0, "ones": 1, "nan": np.nan}[fill], dtype)
    if not fill.endswith(".npy"):
        raise LaunchError(f"--arg {text}: {fill!r} is none of {', '.join(FILLS)} and no .npy file")
    loaded = np.load(fill)
    if loaded.dtype != dtype or loaded.shape != shape:
        raise LaunchError(f"--arg {text}: the file holds {loaded.dtype}{list(loaded.shape)}")
    return loaded


def lines(file: str, report: Report) -> list[str]:
    """The report, a line for each hazard with the place that an editor jumps to."""
    if report.ok:
        return [f"{file}: {report}"]
    return [_line(file, hazard) for hazard in report.hazards]


def _line(file: str, hazard: Hazard) -> str:
    place = f"{file}:{hazard.call_line or hazard.line}" if hazard.line else (hazard.header or file)
    called = f" (in the function at line {hazard.line}, called here)" if hazard.call_line else ""
    times = f" ({hazard.count} times; the first:)" if hazard.count > 1 else ""
    return f"{place}: {hazard.kind}{called}{times}: {hazard.message}"


if __name__ == "__main__":
    sys.exit(main())
