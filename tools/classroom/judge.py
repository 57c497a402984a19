"""The process that checks answers, in a sandbox of its own; verdicts.py starts it.

It reads an exercise and its answer in a line of JSON and writes the verdict in one; in between it may ask for what a
function of the answer gives. No line of a learner's Python is run here.
"""

import builtins
import json
import os
import sys
from typing import TextIO
from unittest import mock

from course_lib import check_exercise
from cupy_or_sim import style
from ptxsim.compiler import ToolMissing
from tools.classroom import wire


def main() -> None:
    """Say that it is there, and answer until nobody asks any more."""
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a check prints is no verdict
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
    except Exception:  # it was made up
        return {"ok": False, "said": f"{exercise} not yet: the answer cannot be read.", "pictures": []}
    try:
        with mock.patch.object(style, "show", lambda figure, alt: pictures.append([style.svg(figure), alt])):
            verdict = check_exercise(exercise, answer)
    except ToolMissing as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"unknown": f"the check of {exercise} stops with {type(error).__name__}: {error}"}
    return {"ok": verdict.ok, "said": repr(verdict), "pictures": pictures}


def _error(kind: str) -> type[Exception]:
    """Python's own exception of this name, or a new one that is called like it."""
    found = getattr(builtins, kind, None)
    known = isinstance(found, type) and issubclass(found, Exception)
    return found if known else type(kind, (Exception,), {})


def _say(said: TextIO, what: dict) -> None:
    print(json.dumps(what), file=said, flush=True)


if __name__ == "__main__":
    main()
