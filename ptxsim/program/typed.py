"""What is typed behind `ptxsim run`, and what is told."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from .compile import BuildError
from .report import FAILED
from .run import LIMIT, run

EPILOG = """\
example:
  ptxsim run reduce.cu more.cu -I include -D N=1024 -- --blocks 4

The program's own code runs as it is and with your rights, as any program that you start: it may read and write your
files, so run none that you do not trust. Its kernels run in the simulator. What it prints is its own; the report goes
to stderr. The exit status is 0 when nothing was found and the program ended with 0; 1 with a hazard, a call that CUDA
refuses, or another status of the program; 2 when it could not be built or run to its end."""


def add_to(commands: argparse._SubParsersAction) -> None:
    """The command, to those that there are."""
    command = commands.add_parser(
        "run",
        help="run a whole program, and print what is wrong with its kernels; ptxsim run --help says how",
        description="Build a CUDA program with nvcc and run it, its kernels in the simulator.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="ptxsim run [options] FILE ... [-- the program's arguments]",
    )
    add = command.add_argument
    add("files", nargs="+", metavar="FILE", help=".cu and .cpp files, objects, or one executable")
    add("-I", dest="include", action="append", default=[], metavar="DIR", help="a folder of headers")
    add("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    add("-L", dest="folders", action="append", default=[], metavar="DIR", help="a folder of libraries")
    add("-l", dest="libraries", action="append", default=[], metavar="NAME", help="a library of the host")
    add("--option", action="append", default=[], metavar="OPT", help="more for nvcc: --option=-O3")
    add(
        "--arch",
        default="90",
        help="the compute capability that kernels are compiled for: 80, 86, 90, 90a, 100a (90)",
    )
    add("--std", default="c++17", help="the standard of C++ (c++17)")
    add("--limit", type=seconds, default=LIMIT, metavar="SECONDS", help=f"that one launch may take ({LIMIT})")
    add(
        "--sms",
        type=count,
        metavar="N",
        help="of the GPU, as the program is told: one that fills it launches less",
    )
    add("--gpus", type=count, default=1, metavar="N", help="that the program sees, alike (1)")
    add("--seed", type=int, metavar="N", help="another legal order of the warps")
    add(
        "--at-once",
        action="store_true",
        help="the host sees what streams wrote without a wait: a program that is right only so lacks one",
    )
    alike = command.add_mutually_exclusive_group()
    alike.add_argument(
        "--judge-each-launch-once",
        action="store_true",
        help="only compute most launches that are like others: of the same size, with the same arrays",
    )
    alike.add_argument("--each-launch-once", action="store_true", help="leave them out")
    add("--no-cuda12", action="store_true", help="without the names that CUDA had until 12, and has no more")
    add("--json", metavar="FILE", help="the report for other programs; - is stdout")
    command.set_defaults(command=command_line)


def seconds(typed: str) -> float:
    number = float(typed)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{typed} seconds are too few: give more than 0")
    return number


def count(typed: str) -> int:
    number = int(typed)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{typed} is too few: give 1 or more")
    return number


def command_line(asked: argparse.Namespace) -> int:
    """Run it; the exit status."""
    if asked.json not in (None, "-") and not Path(asked.json).parent.is_dir():
        print(f"--json {asked.json}: there is no such folder", file=sys.stderr)
        return FAILED
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind
    try:
        return _reported(asked)
    finally:
        signal.signal(signal.SIGTERM, before)


def _reported(asked: argparse.Namespace) -> int:
    options = [
        *(f"-I{each}" for each in asked.include),
        *(f"-D{each}" for each in asked.define),
        *asked.option,
    ]
    libraries = [*(f"-L{each}" for each in asked.folders), *(f"-l{each}" for each in asked.libraries)]
    try:
        report = run(
            *asked.files,
            args=asked.args,
            options=options,
            libraries=libraries,
            arch=asked.arch,
            std=asked.std,
            limit=asked.limit,
            seed=asked.seed,
            sms=asked.sms,
            gpus=asked.gpus,
            cuda12=not asked.no_cuda12,
            each_launch_once=asked.each_launch_once,
            judge_each_launch_once=asked.judge_each_launch_once,
            at_once=asked.at_once,
        )
    except (BuildError, OSError, ValueError) as reason:
        print(reason, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return FAILED
    sys.stdout.flush()
    if _in_one_place():
        print(file=sys.stderr)  # the program's last line may have no end
    print(report, file=sys.stderr)
    if asked.json == "-":
        print(report.json())
    elif asked.json:
        try:
            Path(asked.json).write_text(report.json() + "\n", encoding="utf-8")
        except OSError as reason:
            print(f"--json {asked.json} cannot be written: {reason.strerror}", file=sys.stderr)
            return FAILED
    return report.status


def _in_one_place() -> bool:
    """Whether stdout and stderr go to the same terminal or file."""
    try:
        return os.path.samestat(os.fstat(1), os.fstat(2))
    except OSError:
        return False
