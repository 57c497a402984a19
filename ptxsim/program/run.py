"""Build a program, start it, and answer its questions until it ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic

from . import wire
from .compile import Build, BuildError, Built, build
from .context import Context, Stopped
from .devices import gpu_of
from .folder import of_a_run
from .late import Late
from .progress import Progress, TooLong
from .report import Findings, ProgramReport
from .runtime import Runtime

MOMENT = 2
"""Seconds."""
QUIET = 10
"""Seconds. A host that asks for nothing so long may look at memory for what a kernel writes there, and waits no other
way: it is shown what was done."""
INTERRUPTED = "stopped by Ctrl-C or kill: this is what was seen so far"
LIMIT = 600
"""Seconds that one launch may take."""


def run(
    *sources: str | os.PathLike,
    args: Sequence[str] = (),
    options: Sequence[str] = (),
    libraries: Sequence[str] = (),
    arch: str = "90",
    std: str = "c++17",
    limit: float = LIMIT,
    seed: int | None = None,
    sms: int | None = None,
    gpus: int = 1,
    cuda12: bool = True,
    each_launch_once: bool = False,
    judge_each_launch_once: bool = False,
    at_once: bool = False,
    tell: Callable[[str], None] | None = None,
    **started: object,
) -> ProgramReport:
    """Build a CUDA program and run it with its kernels in the simulator.

    `sources`: its .cu and .cpp files, objects, or one executable. `args`: its arguments. `options`: -I, -D
    and more of nvcc's; `libraries`: -l and -L. `limit`: seconds that one launch may take. `sms`: that the GPU
    tells the program of, so that one that fills it launches less. `gpus`: how many of them it sees. `cuda12`:
    names that went with CUDA 13 are there. `each_launch_once`: of launches of a kernel that are alike, all
    but the first few and then one now and then are left out; what the program computes may not be right then.
    `judge_each_launch_once`: those are only computed: nobody looks for races in them, and all numbers are
    right. `at_once`: the host sees what streams wrote without a wait. `tell` gets lines about long launches.
    `started`: for the program's own process, as in subprocess.Popen: cwd, stdin, stdout.

    Raises BuildError where it does not compile, and ValueError for an architecture that is not known.
    """
    wanted = Build(tuple(map(str, sources)), tuple(options), arch, std, tuple(libraries), cuda12)
    gpu = gpu_of(wanted.number)
    gpu = replace(gpu, sms=sms) if sms else gpu
    findings = Findings(wanted.sources[0])
    own = tuple(option for option in options if option[:2] in ("-I", "-D"))
    with of_a_run() as folder:
        built = build(wanted, folder)
        if not _of_this_machine(built.program):
            raise BuildError(f"{built.program} is no program of this machine: give its sources")
        for note in built.notes:
            findings.note(note)
        context = Context(gpu, wanted.number, findings, Late(at_once), gpus=gpus)
        progress = Progress(limit, tell, all_judged=not (each_launch_once or judge_each_launch_once))
        runtime = Runtime(context, progress, own, seed, each_launch_once, judge_each_launch_once)
        return _run(built, [*map(str, args)], runtime, started)


def _of_this_machine(program: Path) -> bool:
    """Whether an ELF file is of the kind of this Python's: its class, its byte order, its machine."""
    own, other = (Path(each).read_bytes()[:20] for each in (sys.executable, program))
    return other[:4] != b"\x7fELF" or (own[4:6], own[18:]) == (other[4:6], other[18:])


def _run(built: Built, args: Sequence[str], runtime: Runtime, started: dict) -> ProgramReport:
    began, stopped, heard = monotonic(), "", False
    ours, theirs = socket.socketpair()
    memory = runtime.context.arena.file
    environment = os.environ | {
        "PTXSIM_CHANNEL": str(theirs.fileno()),
        "PTXSIM_MEMORY": str(memory),
        "LD_LIBRARY_PATH": os.pathsep.join(
            filter(None, [str(built.folder), os.environ.get("LD_LIBRARY_PATH", "")])
        ),
    }
    try:
        program = subprocess.Popen(
            _started([str(built.program), *args]),
            env=environment,
            pass_fds=(theirs.fileno(), memory),
            **started,
        )
    except OSError:
        runtime.context.arena.close()
        ours.close()
        raise
    finally:
        theirs.close()
    try:
        while question := _next(ours, program, runtime.context.quiet):
            heard = True
            wire.send(ours, runtime.answer(question))
    except (Stopped, TooLong) as reason:
        stopped = str(reason)
        wire.send(ours, wire.Answer(wire.STOP))
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    except BrokenPipeError:
        pass
    except Exception as mistake:  # the simulator's own, which must not lose what was seen before
        traceback.print_exc()
        stopped = f"the simulator failed ({type(mistake).__name__}): this is what was seen so far"
    finally:
        returned = _ended(program, ours, bool(stopped))
        runtime.context.arena.close()
    if not stopped:  # it ended by itself, as by a check of its own that failed
        runtime.context.seen_only("the program ended", runtime.context.late.show_all())
    if not stopped and not heard:
        stopped = _why_silent(returned)
    elif not stopped and returned == -signal.SIGINT:
        stopped = INTERRUPTED
    elif not stopped and returned < 0:
        stopped = f"the program was ended by {signal.Signals(-returned).name}"
    elif not stopped and not returned and not runtime.context.orders.pieces:
        stopped = "there was nothing to look at"
    leaks = [] if stopped or returned else runtime.memory.leaks()
    shown = 0 if stopped else returned
    work, memory = runtime.context.orders.pieces, runtime.context.arena.most_of_device
    return runtime.context.findings.report(leaks, stopped, shown, monotonic() - began, work, memory)


def _next(
    channel: socket.socket, program: subprocess.Popen, quiet: Callable[[], None]
) -> wire.Question | None:
    """What the program asks next; None when it has ended, though a process that it left behind holds the channel."""
    began = monotonic()
    heard = select.poll()
    heard.register(channel, select.POLLIN)
    while not heard.poll(MOMENT * 1000):
        if program.poll() is not None:
            return None
        if monotonic() - began > QUIET:
            quiet()
    return wire.receive(channel)


def _started(command: list[str]) -> list[str]:
    """NVRTC takes the limit of the stack away, for all that its process starts, where a file cannot be opened. Linux
    then puts libraries where device memory has its addresses (arena.py), so the program gets the usual limit."""
    import resource  # Windows has none, and need not: nothing is started there

    if resource.getrlimit(resource.RLIMIT_STACK)[0] != resource.RLIM_INFINITY:
        return command
    return ["sh", "-c", 'ulimit -S -s 8192 && exec "$0" "$@"', *command]


def _ended(program: subprocess.Popen, channel: socket.socket, stopped: bool) -> int:
    """The program's exit status. One that was told to stop is given a moment for what it has printed."""
    if stopped:
        with suppress(subprocess.TimeoutExpired):
            program.wait(MOMENT)
        program.kill()
    channel.close()
    return program.wait()


def _why_silent(returned: int) -> str:
    if returned < 0:
        return f"the program was ended by {signal.Signals(-returned).name} before it used CUDA"
    return (
        "the program never asked for CUDA: no file has a kernel, or the executable has NVIDIA's own runtime in it "
        "(build it with nvcc --cudart=shared)"
    )
