"""The process that checks answers, in a sandbox of its own; verdicts.py starts it.

It reads an exercise and its answer in a line of JSON and writes the verdict in one; in between it may ask for what a
function of the answer gives. No line of a learner's Python is run here, and no program with a `main`. Nor is a kernel
compiled in this process, which can read the answers: the worker of compile_service does that, in copies of itself that
can open no file.
"""

import asyncio
import builtins
import json
import os
import sys
import threading
from functools import partial
from typing import TextIO
from unittest import mock

from course_lib import check_exercise
from course_lib.notebooks.figures.programs import NONE_HERE, NotRunHere
from cupy_or_sim import style
from hiding_latency.compile_service.limits import Limits
from hiding_latency.compile_service.pool import Answer, Worker
from hiding_latency.compile_service.questions import Refused, read
from ptxsim.compiler import ToolMissing, elsewhere, nvrtc
from tools.classroom import wire

LIMITS = Limits(patience=100, walls=False)
"""Of a compilation. A machine that grades has work to do, and waits for it; the sandbox has walls of its own."""


def main() -> None:
    """Say that it is there, and answer until nobody asks any more."""
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a check prints is no verdict
    os.environ[NONE_HERE] = "1"  # native code of a learner
    nvrtc.use_none("what is handed in is compiled by compile_service alone, which gave no answer")
    loop = asyncio.new_event_loop()  # in which the worker is heard, also while a check is at work
    threading.Thread(target=loop.run_forever, daemon=True).start()
    elsewhere.ask_with(partial(compiled, Worker(LIMITS), loop))
    _say(said, {"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        _say(said, judged(asked["exercise"], asked["answer"], said))


def judged(exercise: str, packed: object, said: TextIO) -> dict:
    """The verdict on an answer; "unknown" where the check stops at this answer, "failed" where it would at any."""
    pictures: list[list[str]] = []

    def call(number: int, arguments: tuple) -> object:
        _say(said, {"call": number, "arguments": wire.pack(arguments)})
        given = json.loads(sys.stdin.readline())
        if "error" in given:
            kind, text = map(str, given["error"])
            raise _error(kind)(text)
        return wire.unpack(given["value"])

    try:
        answer = wire.unpack(packed, call)
    except Refused as error:
        return {"ok": False, "said": f"{exercise} not yet: {error}", "pictures": []}
    except Exception:  # it was made up
        return {"ok": False, "said": f"{exercise} not yet: the answer cannot be read.", "pictures": []}
    try:
        with mock.patch.object(style, "show", lambda figure, alt: pictures.append([style.svg(figure), alt])):
            verdict = check_exercise(exercise, answer)
    except NotRunHere as error:
        return {"ok": False, "said": f"{exercise} gets no point from a grader: {error}", "pictures": []}
    except ToolMissing as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"unknown": f"the check of {exercise} stops with {type(error).__name__}: {error}"}
    return {"ok": verdict.ok, "said": repr(verdict), "pictures": pictures}


def compiled(worker: Worker, loop: asyncio.AbstractEventLoop, asked: dict) -> Answer:
    """What the worker says of a kernel. One that it does not take does not compile."""
    try:
        question = read(json.dumps(asked).encode(), LIMITS)
    except Refused as error:
        return elsewhere.REFUSED, {"error": str(error)}
    answer, _ = asyncio.run_coroutine_threadsafe(worker.ask(question), loop).result()
    return answer


def _error(kind: str) -> type[Exception]:
    """Python's own exception of this name, or a new one that is called like it."""
    found = getattr(builtins, kind, None)
    known = isinstance(found, type) and issubclass(found, Exception)
    return found if known else type(kind, (Exception,), {})


def _say(said: TextIO, what: dict) -> None:
    print(json.dumps(what), file=said, flush=True)


if __name__ == "__main__":
    main()
