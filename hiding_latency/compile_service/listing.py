"""nvdisasm, which lists machine code: a program that a copy of the worker starts, within the copy's limits.

A copy that starts a program cannot have lost the right to open files, so it has walls: for it and the program there are
only the program and the system's libraries, to be read. A text is still compiled without a single file.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence

from ptxsim.compiler import ToolMissing, nvdisasm, nvrtc

from . import walls
from .limits import Limits

FILES = 16
"""Open ones of a copy while nvdisasm is at work: pipes."""
INPUT = "/proc/self/fd/0"
"""A program's own input, as a file: nvdisasm jumps back and forth in it."""
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux: the signal for a process when the one that made it is gone."""


def command(limits: Limits) -> list[str]:
    """How nvdisasm is called. Raises ToolMissing where there is none, or are no walls for it."""
    found = nvdisasm(INPUT)
    if limits.walls and not walls.version():
        raise ToolMissing(
            "A disassembler is started only where it can open no file, and this system has no Landlock for that."
        )
    return found


def check_size(size: int, limits: Limits) -> None:
    """Raise CompileError for more than is sent, or listed."""
    if size > limits.answer:
        raise nvrtc.CompileError(
            f"What the compiler made has {size:,} characters, and at most {limits.answer:,} are sent: unroll less."
        )


def wall_in(command: Sequence[str]) -> None:
    if walls.version():
        walls.wall_in((command[0], *LIBRARIES))


def printer(command: Sequence[str], limits: Limits) -> Callable[[bytes], str]:
    """What `disassemble` needs: nvdisasm's text of machine code. What ends nvdisasm ends this process."""
    import resource  # not on Windows

    system = ctypes.CDLL(None)

    def of_this_copy() -> None:
        system.prctl(END_WITH_PARENT, signal.SIGKILL)
        signal.setitimer(signal.ITIMER_PROF, limits.seconds)

    def printed(cubin: bytes) -> str:
        check_size(len(cubin), limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
        file = os.memfd_create("cubin")
        with open(file, "wb", closefd=False) as cubin_file:
            cubin_file.write(cubin)
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, preexec_fn=of_this_copy)
        if -done.returncode in {*signal.Signals}:  # a limit ended it: its caller ends in the same way
            os.kill(os.getpid(), -done.returncode)
        done.check_returncode()
        return done.stdout

    return printed
