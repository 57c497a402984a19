"""Verdicts from the process that checks answers: it never meets the code that gives them.

A sandbox for each: in one a learner's notebook runs, which may do with its Python what it likes; the other one gets the
values that the notebook hands over, knows the tests of the exercises, and says what counts.
"""

import contextlib
import functools
import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hiding_latency.packages import PACKAGES
from tools.classroom import sandbox
from tools.classroom.watch import Watch, end

SECONDS = 120
"""For the check of an answer."""
TOO_MUCH = "the check took more of the machine than it may"
HERE = Path(__file__).resolve().parent
NEEDED = [HERE / "judge.py", HERE / "wire.py", sandbox.ROOT / "notebooks" / "answers"]
"""What this process has beside the course."""
TAKES_PART = {".py", ".sh", ".cuh", ".toml", ".json"}
"""Files that a verdict may depend on."""


@functools.cache
def version() -> str:
    """Which judge this is: another one after each change of the course, of its answers, or of how it grades."""
    places = [HERE, sandbox.ROOT / "notebooks" / "answers", *(sandbox.ROOT / name for name in PACKAGES)]
    files = [path for place in places for path in place.rglob("*") if path.suffix in TAKES_PART]
    texts = ((str(path.relative_to(sandbox.ROOT)), path.read_bytes()) for path in sorted(files))
    return hashlib.sha256(b"".join(repr(each).encode() for each in texts)).hexdigest()[:16]


class NoVerdict(Exception):
    """There is no verdict, since the answer takes more of the machine than it may."""


class CheckStopped(Exception):
    """There is no verdict, since the check itself stops: nobody knows what the answer is worth."""


class Judge:
    """The process, started ahead; after an answer that took too much, another one."""

    def __init__(self, lessons: dict[Path, Path], most_memory: int) -> None:
        self.seen, self.most_memory = lessons | {place: place for place in NEEDED}, most_memory
        self._start()

    def verdict(
        self, exercise: str, answer: object, call: Callable[[int, object], object], seconds: float = SECONDS
    ) -> dict:
        """Whether an answer is right ("ok"), what is said of it, and pictures with their words. `call` asks one of the
        answer's functions. Raises NoVerdict or CheckStopped."""
        ends = time.monotonic() + seconds
        try:
            self._wait_until_ready(ends)
            self._ask({"exercise": exercise, "answer": answer})
            while "call" in (said := self._heard(ends)):
                self._ask(call(said["call"], said["arguments"]))
        except BaseException as error:  # it may still be at work, or wait for what a function gives
            why = self.watch.why or TOO_MUCH
            self.stop()
            self._start()
            if isinstance(error, OSError):
                raise NoVerdict(why) from None
            raise
        if "failed" in said:
            raise CheckStopped(f"the check of {exercise} stops with {said['failed']}")
        return said

    def stop(self) -> None:
        """End the process, with all that it has started."""
        self.watch.stop()
        end(self.process.pid)
        self.process.wait()
        self.reader.join()
        with contextlib.suppress(OSError):  # what was not sent any more
            self.process.stdin.close()

    def _start(self) -> None:
        inside = [sys.executable, "-m", "tools.classroom.judge"]
        command = sandbox.limited(inside) if sandbox.unsafe() else sandbox.command(inside, self.seen)
        environment = os.environ | {"PYTHONPATH": str(sandbox.ROOT), "COURSE_BACKEND": "simulator"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(
            command, env=environment, text=True, cwd=sandbox.ROOT, start_new_session=True, **pipes
        )
        self.watch, self.ready = Watch(self.most_memory), False
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=_read, args=(self.process, self.lines), daemon=True)
        self.reader.start()

    def _wait_until_ready(self, ends: float) -> None:
        """Its sandbox shows all processes of this machine until it is made; then it is watched."""
        if self.ready:
            return
        try:
            self.ready = self._heard(ends)["ready"]
        except NoVerdict:
            raise CheckStopped("the process that checks answers does not start") from None
        self.watch.begin(self.process.pid)

    def _ask(self, what: object) -> None:
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def _heard(self, ends: float) -> dict:
        """What it says next."""
        try:
            line = self.lines.get(timeout=max(0.0, ends - time.monotonic()))
        except queue.Empty:
            raise NoVerdict("the check was not done in the time that it has") from None
        if not line:
            raise NoVerdict(self.watch.why or TOO_MUCH)
        return json.loads(line)


def _read(process: subprocess.Popen, lines: queue.Queue[str]) -> None:
    """Put each line of a process there, and "" behind the last one."""
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put("")
