"""A process that holds the compiler and all headers, and copies itself for each text.

It reads a question a line, [number, question], and writes an answer a line, in the order in which they are done. The
line [number, null] drops a question: its copy ends. The line null is answered by null, at once. The compiler cannot be
interrupted, and a hostile text may take all memory or break it; so it works in a copy (a fork), which the system ends
when its time is over, and whose memory is given back whatever happens. Before a copy sees the text it gives up its
rights: it can open no file and no connection, and of those that were open only the way back to this process is left.
"""

import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from cupy_or_sim.device import INCLUDE
from ptxsim.compiler import ToolMissing, nvrtc

from . import listing
from .limits import Limits
from .questions import Question

Headers = dict[bytes, bytes]
"""Name -> text, as `nvrtc.all_headers` gives them."""
BACK = 3
"""The one open file of a copy that leads anywhere."""
FIRST = 'extern "C" __global__ void first() {}'


def main() -> None:
    """The first line says which compiler it is, or why there is none."""
    limits = Limits(**json.loads(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints would answer in our name
    try:
        known = nvrtc.all_headers([INCLUDE])
        nvrtc.compile_enclosed("ptx", FIRST, (), (), known)  # loads all that a copy needs
        hello = {"compiler": "NVRTC {}.{}".format(*nvrtc.version())}
    except (ImportError, nvrtc.NvrtcMissing) as error:
        hello = {"error": f"There is no compiler on the machine that serves this page. {error}"}
    try:
        lister, why = listing.command(limits), ""
    except (ImportError, ToolMissing) as error:
        lister, why = [], f"The machine that serves this page lists no machine code. {error}"
    os.chdir("/")
    print(json.dumps(hello), file=answers, flush=True)
    if "compiler" in hello:
        Desk(known, limits, answers, lister, why).work()


@dataclass
class Copy:
    """A process that compiles one text."""

    number: int
    process: int
    said: bytearray = field(default_factory=bytearray)


class Desk:
    """Hands questions to copies, and their answers back."""

    def __init__(
        self, known: Headers, limits: Limits, answers: TextIO, lister: list[str], why_none: str
    ) -> None:
        self._known, self._limits, self._answers = known, limits, answers
        self._lister, self._why_none = lister, why_none
        self._at_work: dict[int, Copy] = {}

    def work(self) -> None:
        """Until the server is gone."""
        asked, rest = sys.stdin.fileno(), b""
        while True:
            ready, _, _ = select.select([asked, *self._at_work], [], [])
            for pipe in set(ready) - {asked}:
                self._hear(pipe)
            if asked in ready:
                if not (piece := os.read(asked, 1 << 20)):
                    return self._end_all()
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._do(json.loads(line))

    def _do(self, line: list | None) -> None:
        if line is None:
            return self._say(None)
        number, question = line
        if question:
            return self._begin(number, Question.of(question))
        for copy in self._at_work.values():
            if copy.number == number:
                os.kill(copy.process, signal.SIGKILL)

    def _begin(self, number: int, question: Question) -> None:
        lister = self._lister if question.kind == "code" else []
        if question.kind == "code" and not lister:
            return self._say([number, 503, {"error": self._why_none}, False])
        here, back = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                give_up_rights(back, self._limits, lister)
                said = json.dumps(compiled(question, self._known, self._limits, lister)).encode()
                while said:
                    said = said[os.write(BACK, said) :]
                os._exit(0)
            except MemoryError:
                os.abort()
            finally:
                os._exit(1)
        os.close(back)
        self._at_work[here] = Copy(number, process)

    def _hear(self, pipe: int) -> None:
        copy = self._at_work[pipe]
        if piece := os.read(pipe, 1 << 20):
            copy.said += piece
            return
        os.close(pipe)
        del self._at_work[pipe]
        _, status = os.waitpid(copy.process, 0)
        self._say([copy.number, *judged(bytes(copy.said), status, self._limits)])

    def _say(self, answer: list | None) -> None:
        print(json.dumps(answer), file=self._answers, flush=True)

    def _end_all(self) -> None:
        for copy in self._at_work.values():
            os.kill(copy.process, signal.SIGKILL)


def judged(said: bytes, status: int, limits: Limits) -> tuple[int, dict, bool]:
    """Status and answer, whatever became of a copy; and whether they would be the same another time."""
    if os.WIFSIGNALED(status):
        return (*ended(os.WTERMSIG(status), limits), False)
    if status:
        return (
            503,
            {"error": "The compile service made a mistake of its own with this text. Please report it."},
            False,
        )
    return (*json.loads(said), True)


def compiled(
    question: Question, known: Headers, limits: Limits, lister: Sequence[str] = ()
) -> tuple[int, dict]:
    """What the compiler says, in this process. `lister`: the command that lists machine code."""
    asked = (question.kind, question.source, question.names, question.options)
    try:
        made = nvrtc.compile_enclosed(*asked, known, listing.printer(lister, limits))
        listing.check_size(len(made.text), limits)
    except nvrtc.CompileError as error:
        return 422, {"error": str(error)}
    log = made.log[: limits.answer]
    text = {question.kind: made.text} if question.kind != "log" else {}
    return 200, {"ptx": "", "log": log, "lowered": made.lowered} | text


def give_up_rights(back: int, limits: Limits, lister: Sequence[str] = ()) -> None:
    """From here on this process can compute, and write to `back`, for a while; start `lister` too, when it is time."""
    import resource  # not on Windows

    ctypes.CDLL(None).prctl(listing.END_WITH_PARENT, signal.SIGKILL)
    nothing, with_libraries = os.open(os.devnull, os.O_RDWR), address_space()
    if lister:
        listing.wall_in(lister)
    os.dup2(back, BACK + 1)
    for number in range(BACK):
        os.dup2(nothing, number)
    os.dup2(BACK + 1, BACK)
    os.closerange(BACK + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for what, most in {
        resource.RLIMIT_FSIZE: limits.answer if lister else 0,  # of machine code, in memory
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_STACK: limits.stack,
        resource.RLIMIT_AS: with_libraries + limits.memory,
    }.items():
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, listing.FILES if lister else 0))
    for number, timer, seconds in (
        (signal.SIGPROF, signal.ITIMER_PROF, limits.seconds),  # of work
        (signal.SIGALRM, signal.ITIMER_REAL, limits.patience),
    ):
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(timer, seconds)


def address_space() -> int:
    """Bytes that this process has reserved."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def ended(number: int, limits: Limits) -> tuple[int, dict]:
    """Status and answer for who sent the text at which a copy was ended by this signal."""
    if number == signal.SIGALRM:
        why = f"this text was not done in {limits.patience:g} seconds. Try it again."
        return 503, {"error": f"The machine that compiles is busy: {why}"}
    if number == signal.SIGPROF:
        why = (
            f"was stopped after {limits.seconds:g} seconds of work. Is a loop unrolled too far, or does "
            "a template or a macro never end?"
        )
    else:
        why = (
            f"broke off. It may take {limits.memory >> 20} MB for a text: this one needs more, or is nested too "
            "deeply. Make it simpler."
        )
    return 422, {"error": f"kernel.cu: the compiler {why}"}


if __name__ == "__main__":
    main()
