"""Who waits for the compiler, and what was compiled already.

All of it runs in one event loop. Who does not wait for an answer any more cancels the question: it loses its place, and
what is compiled for it ends at once.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from dataclasses import asdict
from itertools import count

from .limits import Limits
from .questions import Question, Refused

Answer = tuple[int, dict]

ENDED = (503, {"error": "The compiler was ended by the system. Try it again in a few seconds."})
LONGEST_LINE = 64 << 20
"""Of the worker, in bytes: JSON writes some characters of an answer as six."""


class Pool:
    """Compiles texts, some at a time; the others wait."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._worker = Worker(limits)
        self._turns = Turns(limits)
        self._kept = Kept(limits.kept)

    async def compiler(self) -> dict:
        """{"compiler": name}, or {"error": why there is none}; starts it."""
        return await self._worker.hello()

    async def answer(self, question: Question, sender: str) -> Answer:
        """Status and answer. Raises Refused where no more texts may wait."""
        if known := self._kept.get(question):
            return known
        async with self._turns.one(sender):
            if known := self._kept.get(question):  # while this one waited, somebody else asked the same
                return known
            answer, lasting = await self._worker.ask(question)
            if answer[0] != ENDED[0]:
                self._turns.note(sender, ran_out=not lasting)
        if lasting:
            self._kept.put(question, answer)
        return answer

    async def close(self) -> None:
        await self._worker.close()


class Turns:
    """Who is next: of those that wait, a text of the sender whose last turn is longest ago. No sender has more than its
    share of the places, at work and waiting.

    A sender whose last text ran out of time or memory comes behind all others, and all such together have one sender's
    share of the places: their next text is likely to take long again, and a mistake costs its author a moment."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._at_work: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._ran_out: set[str] = set()
        self._numbers = count(1)

    @contextlib.asynccontextmanager
    async def one(self, sender: str) -> AsyncIterator[None]:
        """A turn. Raises Refused where no more may wait."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(turn)
        self._give()
        try:
            if not turn.done():
                self._check_room(sender)
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self._at_work[sender] -= 1
            elif turn in self._waiting.get(sender, ()):
                self._waiting[sender].remove(turn)
            self._forget(sender)
            self._give()

    def note(self, sender: str, ran_out: bool) -> None:
        """How the sender's last text ended. Where all come from one address, nobody is told from the others."""
        if ran_out and self._limits.share < 1:
            self._ran_out.add(sender)
        else:
            self._ran_out.discard(sender)

    def _check_room(self, sender: str) -> None:
        most, of_one = self._limits.waiting, self._limits.of_one(self._limits.waiting)
        again = "and no more are taken. Try it again in a few seconds."
        if len(self._waiting[sender]) > of_one:
            raise Refused(429, f"{of_one} texts from your address wait for the compiler, {again}")
        if sum(map(len, self._waiting.values())) > most:
            raise Refused(429, f"{most} texts wait for the compiler, {again}")

    def _give(self) -> None:
        of_one = self._limits.of_one(self._limits.at_once)
        while self._at_work.total() < self._limits.at_once:
            may = [each for each, turns in self._waiting.items() if turns and self._at_work[each] < of_one]
            if sum(self._at_work[each] for each in self._ran_out) >= of_one:
                may = [each for each in may if each not in self._ran_out]
            if not may:
                return
            sender = min(may, key=lambda each: (each in self._ran_out, self._last.get(each, 0)))
            turn = self._waiting[sender].popleft()
            if turn.cancelled():  # who waited has gone, and has not heard of it yet
                continue
            self._last[sender] = next(self._numbers)
            self._at_work[sender] += 1
            turn.set_result(None)

    def _forget(self, sender: str) -> None:
        if not self._waiting.get(sender) and not self._at_work[sender]:
            for known in (self._waiting, self._at_work, self._last):
                known.pop(sender, None)


class Worker:
    """The process of worker.py, started when it is needed, and again when it ended or does not answer."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: asyncio.subprocess.Process | None = None
        self._hello: dict = {}
        self._asked: dict[int, asyncio.Future[tuple[Answer, bool]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = count(1)
        self._starting: asyncio.Task[None] | None = None
        self._heard = 0.0

    async def hello(self) -> dict:
        """What it said of itself when it started."""
        ended = self._process is None or self._process.returncode is not None
        if self._starting is None or (self._starting.done() and ended):
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)  # it goes on for others when this one is taken back
        return self._hello

    async def ask(self, question: Question) -> tuple[Answer, bool]:
        """Its answer, and whether it would be the same another time."""
        if "error" in (said := await self.hello()):
            return (503, said), False
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._write([number, asdict(question)])
        try:
            return await answer
        finally:
            if self._asked.pop(number, None):  # nobody waits for it any more
                self._write([number, None])

    async def close(self) -> None:
        if self._starting:
            self._kill()
            await asyncio.wait({self._starting})
        await self._end()

    def _kill(self) -> None:
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _end(self) -> None:
        self._kill()
        process, self._process = self._process, None
        if process:
            await process.wait()
            await asyncio.gather(*self._tasks)

    async def _start(self) -> None:
        await self._end()
        if not sys.platform.startswith("linux"):
            self._hello = {"error": "The compile service needs Linux; on Windows it runs inside WSL."}
            return
        self._process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "hiding_latency.compile_service.worker",
                json.dumps(asdict(self._limits)),
            ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # a process with threads is not copied safely
            start_new_session=True,  # Ctrl-C is for the server, which ends this one
        )
        assert self._process.stdout
        try:
            self._hello = json.loads(await self._process.stdout.readline())
        except ValueError:
            self._hello = {"error": "The compiler could not be started; the server's window says why."}
        jobs = (self._listen(self._process), self._watch(self._process))
        self._tasks = [asyncio.create_task(job) for job in jobs]

    def _write(self, line: object) -> None:
        """A line for the process. One that has ended takes none, and `_listen` tells all who wait."""
        if self._process and self._process.stdin:
            self._process.stdin.write(f"{json.dumps(line)}\n".encode())

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Give each answer to who waits for it; when the process ends, tell all."""
        assert process.stdout
        while line := await process.stdout.readline():
            self._heard = asyncio.get_running_loop().time()
            if said := json.loads(line):
                number, status, answer, lasting = said
                self._tell(number, ((status, answer), lasting))
        await process.wait()
        for number in list(self._asked):
            self._tell(number, (ENDED, False))

    def _tell(self, number: int, answer: tuple[Answer, bool]) -> None:
        asked = self._asked.pop(number, None)
        if asked and not asked.done():
            asked.set_result(answer)

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """End a process that gives no sign of life: somebody stopped it, or the machine has no memory for it."""
        loop, ended = asyncio.get_running_loop(), asyncio.create_task(process.wait())
        while not ended.done():
            asked = loop.time()
            self._write(None)
            await asyncio.wait({ended}, timeout=self._limits.sign)
            if self._heard < asked and not ended.done():
                process.kill()


class Kept:
    """Answers by their questions, as many as there is room for: those used longest ago go first."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._answers: OrderedDict[Question, tuple[Answer, int]] = OrderedDict()

    def get(self, question: Question) -> Answer | None:
        if question not in self._answers:
            return None
        self._answers.move_to_end(question)
        return self._answers[question][0]

    def put(self, question: Question, answer: Answer) -> None:
        size = len(question.source) + sum(len(str(part)) for part in answer[1].values())
        self._size += size - self._answers.pop(question, (answer, 0))[1]
        self._answers[question] = answer, size
        while self._size > self._most:
            self._size -= self._answers.popitem(last=False)[1][1]
