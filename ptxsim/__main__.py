"""`python -m ptxsim check kernel.cu --grid 4 --block 256 --arg ...`: run a kernel of a file, say what is wrong;
`python -m ptxsim run program.cu`: run a whole program.

Exit status: 0 without a hazard, 1 with one, 2 when the kernel could not run.
"""

import argparse
import codecs
import io
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from . import CompileError, Report, launch
from .command import files, host, kernels, places
from .command.arguments import FORMS, arguments
from .command.orders import in_other_orders
from .compiler.cache import ToolMissing
from .front.kernel import from_ptx
from .front.launch import size_in_words
from .ground.foreign import printable
from .program import typed as whole
from .ptx.program import file_of

CLEAN, HAZARDS, FAILED = range(3)
EPILOG = f"""\
example:
  ptxsim check reverse.cu --kernel reverse --grid 1 --block 256 --arg "float32[256]=arange"

{FORMS}

The exit status is 0 without a finding, 1 with one, 2 when nothing could be run."""


def main(typed: Sequence[str] | None = None) -> int:
    _speak()
    typed = list(sys.argv[1:] if typed is None else typed)
    end = typed.index("--") if "run" in typed[:1] and "--" in typed else len(typed)
    asked = parser().parse_args(typed[:end], argparse.Namespace(args=typed[end + 1 :]))
    return asked.command(asked)


def _speak() -> None:
    """A file's name may be of any bytes and a report has characters of its own, whatever the terminal is said to know:
    with LC_ALL=C that is ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            name = codecs.lookup(stream.encoding).name
            any_bytes = name in ("ascii", "utf-8")
            stream.reconfigure(
                encoding="utf-8" if name == "ascii" else None,
                errors="surrogateescape" if any_bytes else "backslashreplace",
            )


def shown(text: str) -> str:
    """What others wrote, without what a terminal obeys. Bytes of a file's name stay as they are."""
    return re.sub("[^\udc80-\udcff]+", lambda found: printable(found[0]), text)


def check_file(asked: argparse.Namespace) -> int:
    options = [f"-I{Path(asked.file).resolve().parent}", *asked.option]
    options += [f"-arch=sm_{asked.arch}"] * bool(asked.arch)
    hints = files.Hints()
    try:
        with TemporaryDirectory() as headers:
            report, file = check(asked, options, Path(headers), hints)
    except CompileError as error:
        said = places.of_compiler(places.in_options(str(error)), asked.file, options)
        return failed(*hints.headers, said, *hints.program)
    except (OSError, ValueError, ToolMissing) as error:
        return failed(f"{asked.file}: {places.in_options(str(error))}", *hints.program)
    except MemoryError:
        return failed(f"{asked.file}: it takes more memory than there is. Simulate a smaller problem")
    except KeyboardInterrupt as stopped:
        return failed(f"{asked.file}: {str(stopped) or 'stopped'}")
    except Exception:  # a mistake of the simulator's own, which would exit as a hazard does
        traceback.print_exc()
        return FAILED
    print(shown(report.output), end="")
    print(shown("\n".join(places.lines(file, report))))
    return CLEAN if report.ok else HAZARDS


def failed(*words: str) -> int:
    print(shown("\n".join(words)), file=sys.stderr)
    return FAILED


def check(
    asked: argparse.Namespace, options: Sequence[str], headers: Path, hints: files.Hints
) -> tuple[Report, str]:
    """The report, and the file of its lines. Raises CompileError, or OSError, ValueError or ToolMissing with what could
    not be done; `hints` then has what may help besides."""
    source = files.read(asked.file)
    if re.search(r"^\.version\s", source, re.M):
        kernel = from_ptx(source, asked.kernel)
        file = file_of(source, kernel.entry) or asked.file
    else:
        file = asked.file
        divided = host.divide(source, options, headers)
        hints.add(asked.file, host.is_program(source), divided.not_here)
        if divided.left_out:
            ranges = (f"{first}-{last}" if first != last else str(first) for first, last in divided.left_out)
            print(
                shown(f"{asked.file}: left out, as only the host's: lines {', '.join(ranges)}"),
                file=sys.stderr,
            )
        kernel = kernels.find(divided.source, asked.kernel, divided.options)
    grid, block = asked.grid or (1,), asked.block or kernel.code.program.only_block or (32,)
    arguments(asked.arg, kernel)
    if assumed := [f"--{name}" for name in ("grid", "block") if getattr(asked, name) is None]:
        print(shown(f"{asked.file}: {_assumed(assumed, grid, block)}"), file=sys.stderr)

    def run(seed: int | None) -> Report:
        args = arguments(asked.arg, kernel)
        return launch(kernel, grid, block, args, asked.shared, asked.max_steps, seed, asked.cooperative)

    report = run(asked.seed)
    return report if asked.seed is not None else in_other_orders(report, run), file


def _assumed(options: Sequence[str], grid: Sequence[int], block: Sequence[int]) -> str:
    """Which launch was taken for options that were not given."""
    blocks, threads = map(size_in_words, (grid, block))
    return f"no {' and no '.join(options)}: launched as {blocks} block{'s' * (blocks != '1')} of {threads} threads"


def parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    about = "Run CUDA kernels without a GPU, and find their races."
    made = argparse.ArgumentParser(
        prog="ptxsim", description=about, epilog=EPILOG, formatter_class=shape, allow_abbrev=False
    )
    made.add_argument("--version", action="version", version=f"ptxsim {version()}")
    commands = made.add_subparsers(required=True, metavar="check or run")
    whole.add_to(commands)
    command = commands.add_parser(
        "check",
        help="run one kernel of a file, and print what is wrong with it; ptxsim check --help says how",
        description="Run one kernel of a file, and print what is wrong with it.",
        epilog=EPILOG,
        formatter_class=shape,
        allow_abbrev=False,
    )
    add = command.add_argument
    add(
        "file",
        help="CUDA C++; main, and what else only the host can use, is left out. Or PTX of any compiler",
    )
    add(
        "--kernel",
        default="",
        metavar="NAME",
        help='scale, math::scale, a template\'s instance "tile<float, 16>" or, of several kernels of one name, '
        '"scale(int *, int)". The only kernel of a file needs no name',
    )
    add("--grid", type=dimensions, metavar="X,Y,Z", help="blocks: 4 or 4,2,1 (1 if not given)")
    add(
        "--block",
        type=dimensions,
        metavar="X,Y,Z",
        help="threads of a block: 256 or 16,16 (if not given, those of .reqntid in PTX, else 32)",
    )
    add("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory of a block (0)")
    add(
        "--arg",
        action="append",
        default=[],
        metavar="ARG",
        help="one for each parameter, in order; see below",
    )
    add(
        "--arch", metavar="CC", help="compute capability that it is compiled for: 90a, 100a (80 if not given)"
    )
    add("--option", action="append", default=[], metavar="OPT", help="of the compiler: --option=-DN=4")
    add(
        "--max-steps",
        type=int,
        metavar="N",
        help="work after which it is stopped (about 15 seconds without progress)",
    )
    add("--cooperative", action="store_true", help="a cooperative launch, for grid.sync()")
    add("--seed", type=int, metavar="N", help="this legal order of the warps, and no other")
    command.set_defaults(command=check_file)
    return made


def version() -> str:
    """The newest one of CHANGELOG.md, which lies beside this file however ptxsim was installed."""
    news = (Path(__file__).parent / "CHANGELOG.md").read_text(encoding="utf-8")
    return news.partition("\n## ")[2].partition(" ")[0]


def dimensions(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+){0,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three numbers, such as 4 or 4,2,1")
    return tuple(int(number) for number in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
