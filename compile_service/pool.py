"""Who waits for the compiler, and what was compiled already."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unanswered
from dataclasses import asdict

from .limits import Limits
from .questions import Question

Answer = tuple[int, dict]

ENDED = (503, {"error": "The compiler was ended by the system. Try it again in a few seconds."})


class Pool:
    """Compiles texts, some at a time; the others wait."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._worker = Worker(limits)
        self._turns = threading.Semaphore(limits.at_once)
        self._places = threading.BoundedSemaphore(limits.at_once + limits.waiting)
        self._kept = Kept(limits.kept)

    def compiler(self) -> dict:
        """{"compiler": name}, or {"error": why there is none}; starts it."""
        return self._worker.hello()

    def answer(self, question: Question) -> Answer:
        """Status and answer."""
        if known := self._kept.get(question):
            return known
        if not self._places.acquire(blocking=False):
            waiting = f"{self.limits.waiting} texts wait for the compiler"
            return 429, {"error": f"{waiting}, and no more are taken. Try it again in a few seconds."}
        try:
            with self._turns:
                if known := self._kept.get(question):  # while this one waited, somebody else asked the same
                    return known
                answer, lasting = self._worker.ask(question)
        finally:
            self._places.release()
        if lasting:
            self._kept.put(question, answer)
        return answer

    def close(self) -> None:
        self._worker.close()


class Worker:
    """The process of worker.py, started when it is needed, and again when the system ended it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: subprocess.Popen | None = None
        self._hello: dict = {}
        self._asked: dict[int, Future] = {}
        self._listener: threading.Thread | None = None
        self._number = 0
        self._lock = threading.Lock()

    def hello(self) -> dict:
        """What it said of itself when it started."""
        with self._lock:
            self._run()
            return self._hello

    def ask(self, question: Question) -> tuple[Answer, bool]:
        """Its answer, and whether it would be the same another time."""
        with self._lock:
            self._run()
            if "error" in self._hello:
                return (503, self._hello), False
            self._number += 1
            answer = self._asked[self._number] = Future()
            with contextlib.suppress(OSError):  # it has ended: the listener says so
                assert self._process and self._process.stdin, "it says an error where it could not be started"
                self._process.stdin.write(f"{json.dumps([self._number, asdict(question)])}\n")
                self._process.stdin.flush()
        try:
            return answer.result(timeout=self._limits.patience + 30)
        except Unanswered:
            return ENDED, False

    def close(self) -> None:
        with self._lock:
            self._end()

    def _run(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._start()

    def _start(self) -> None:
        if not sys.platform.startswith("linux"):
            self._hello = {"error": "The compile service needs Linux; on Windows it runs inside WSL."}
            return
        self._process = subprocess.Popen(
            [sys.executable, "-m", "compile_service.worker", json.dumps(asdict(self._limits))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # a process with threads is not copied safely
            start_new_session=True,  # Ctrl-C is for the server, which ends this one
        )
        try:
            assert self._process.stdout
            self._hello = json.loads(self._process.stdout.readline())
        except ValueError:
            self._hello = {"error": "The compiler could not be started; the server's window says why."}
        self._asked = {}
        self._listener = threading.Thread(target=_listen, args=(self._process, self._asked), daemon=True)
        self._listener.start()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if self._listener:
                self._listener.join()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with contextlib.suppress(OSError):  # what was not read any more is lost
                    pipe.close()


def _listen(process: subprocess.Popen, asked: dict[int, Future]) -> None:
    """Give each answer of the process to who waits for it; when it ends, tell all."""
    for line in process.stdout or ():
        number, status, answer, lasting = json.loads(line)
        asked.pop(number).set_result(((status, answer), lasting))
    process.wait()
    for number in list(asked):
        asked.pop(number).set_result((ENDED, False))


class Kept:
    """Answers by their questions, as many as there is room for: those used longest ago go first."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._answers: OrderedDict[Question, tuple[Answer, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Question) -> Answer | None:
        with self._lock:
            if question not in self._answers:
                return None
            self._answers.move_to_end(question)
            return self._answers[question][0]

    def put(self, question: Question, answer: Answer) -> None:
        size = len(question.source) + sum(len(str(part)) for part in answer[1].values())
        with self._lock:
            self._size += size - self._answers.pop(question, (answer, 0))[1]
            self._answers[question] = answer, size
            while self._size > self._most:
                self._size -= self._answers.popitem(last=False)[1][1]
