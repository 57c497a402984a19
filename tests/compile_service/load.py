"""A room of learners for some minutes: `python -m tests.compile_service.load`, with --minutes and --clients.

Each edits a kernel of a lesson and has it compiled, waits 2 to 8 seconds, and goes on. Among their texts are broken,
endless, greedy, too deep, huge and hostile ones. Every answer is judged; the table says how long they took, and what
memory the server and its processes had at most. Exits with 1 when an answer was wrong.
"""

import argparse
import http.client
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

from course_lib import kernel_source
from cupy_or_sim.device import options_for
from ptxsim.compiler import elsewhere, nvrtc

from .ask import DEEP, EAGER, ENDLESS, LARGE

KERNELS = [
    ("01_mainloop", "tiled"),
    ("01_mainloop", "mainloop"),
    ("02_producer_consumer", "early_copy"),
    ("03_double_buffer", "two_buffers"),
    ("05_three_stage", "three_stage"),
    ("07_hopper", "ring"),
]
MIX = {"edited": 44, "the same": 12, "broken": 20, "endless": 2, "greedy": 2, "large": 2, "deep": 2, "hostile": 4,
       "huge": 3, "no JSON": 1, "a page": 8}  # fmt: skip
"""Of a hundred requests."""


class Room:
    """What thirty learners saw."""

    def __init__(self, port: int) -> None:
        self.port, self.until = port, 0.0
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.statuses: dict[str, Counter[int]] = defaultdict(Counter)
        self.wrong: list[str] = []
        self.sources = {kernel: kernel_source(*kernel) for kernel in KERNELS}

    def learner(self, number: int) -> None:
        dice = random.Random(number)
        time.sleep(dice.uniform(0, 5))
        turn = 0
        while time.monotonic() < self.until:
            turn += 1
            (kind,) = dice.choices(list(MIX), MIX.values())
            self.one(kind, number, turn, dice)
            time.sleep(dice.uniform(2, 8))

    def one(self, kind: str, number: int, turn: int, dice: random.Random) -> None:
        kernel = dice.choice(KERNELS)
        body, right = self.request(kind, kernel, f"{number}.{turn}", dice)
        began = time.monotonic()
        try:
            status, said = self.post(body) if kind != "a page" else self.get()
        except OSError as error:
            self.wrong.append(f"{kind}: {error!r}")
            return
        self.seconds[kind].append(time.monotonic() - began)
        self.statuses[kind][status] += 1
        if status != 429 and not right(status, said):
            self.wrong.append(f"{kind} of {kernel[1]}: {status} {said[:200]}")

    def request(self, kind: str, kernel: tuple[str, str], mark: str, dice: random.Random):
        """A request's body, and what its answer must be."""
        source, number = self.sources[kernel], dice.randrange(10**6)
        lines = source.count("\n") + 1

        def asked(text: str) -> bytes:
            return json.dumps(elsewhere.question(nvrtc.wanted(text, options_for(source)))).encode()

        def stopped(status: int, said: str) -> bool:
            return status == 422 and bool(
                re.search("stopped after|broke off|out of memory|brackets are open", said)
            )

        match kind:
            case "edited":
                own = source.replace("\n", "\n" * dice.randrange(1, 4), 1) + f"\n__device__ int of_{number};"
                return asked(own), lambda status, said: status == 200 and f"entry {kernel[1]}" in said
            case "the same":
                return asked(source + "\n// the teacher said so"), lambda status, said: status == 200
            case "broken":
                place = f'kernel.cu({lines + 1}): error: identifier \\"wrong_{number}'
                return asked(
                    f"{source}\n__device__ int x = wrong_{number};"
                ), lambda status, said: place in said
            case "endless":
                return asked(ENDLESS % dice.randrange(150, 190)), stopped
            case "greedy":
                return asked(EAGER % number), stopped
            case "large":
                return asked(LARGE % number), stopped
            case "deep":
                return asked(DEEP % number), stopped
            case "hostile":
                path = dice.choice(["/etc/passwd", "../../../etc/passwd", "/proc/self/environ", "/dev/zero"])
                return asked(
                    f'#include "{path}"\n// {mark}'
                ), lambda status, said: status == 422 and "root:" not in said
            case "huge":
                return asked("//" + "x" * 100_000), lambda status, said: status == 413
            case "no JSON":
                return b"{", lambda status, said: status == 400
        return b"", lambda status, said: status == 200

    def post(self, body: bytes) -> tuple[int, str]:
        return self.send("POST", "/api/compile", body, {"Content-Type": "application/json"})

    def get(self) -> tuple[int, str]:
        return self.send("GET", "/", None, {"Accept-Encoding": "gzip"})

    def send(self, *request) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        try:
            connection.request(*request)
            reply = connection.getresponse()
            return reply.status, reply.read().decode(errors="replace")
        finally:
            connection.close()


class Memory:
    """Most megabytes of the server, its compiler and the copies at work, and of all together, shared pages once."""

    def __init__(self, server: int) -> None:
        self.server, self.most = server, Counter()

    def look(self) -> None:
        workers = _children(self.server)
        copies = [copy for worker in workers for copy in _children(worker)]
        for name, numbers in {"server": [self.server], "compiler": workers, "a copy": copies}.items():
            self._most(name, max((_kilobytes(n, "Rss") for n in numbers), default=0))
        self._most("all", sum(_kilobytes(n, "Pss") for n in [self.server, *workers, *copies]))

    def _most(self, name: str, kilobytes: int) -> None:
        self.most[name] = max(self.most[name], kilobytes // 1024)


def _children(number: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{number}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _kilobytes(number: int, what: str) -> int:
    try:
        found = re.search(rf"^{what}: +(\d+)", Path(f"/proc/{number}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def main() -> int:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--minutes", type=float, default=5)
    made.add_argument("--clients", type=int, default=30)
    asked = made.parse_args()
    with tempfile.TemporaryDirectory() as book:
        (Path(book) / "index.html").write_text("<p>a page of the book</p>" * 4000)
        command = [sys.executable, "-m", "hiding_latency", "serve", book, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                first = [server.stdout.readline() for _ in range(2)]
                print(*first, sep="", end="")
                return fill(int(re.search(r":(\d+)/", first[0])[1]), server.pid, asked)
            finally:
                server.terminate()


def fill(port: int, server: int, asked: argparse.Namespace) -> int:
    room, memory = Room(port), Memory(server)
    room.until = time.monotonic() + 60 * asked.minutes
    learners = [threading.Thread(target=room.learner, args=(number,)) for number in range(asked.clients)]
    for learner in learners:
        learner.start()
    while any(learner.is_alive() for learner in learners):
        memory.look()
        time.sleep(0.5)
    memory.look()
    table(room, memory)
    return 1 if room.wrong else 0


def table(room: Room, memory: Memory) -> None:
    print("\n| text | how many | median s | 95 % s | most s | answers |\n|---|--:|--:|--:|--:|---|")
    for kind in MIX:
        if times := sorted(room.seconds[kind]):
            high = times[min(len(times) - 1, round(0.95 * len(times)))]
            answers = ", ".join(f"{status}: {count}" for status, count in sorted(room.statuses[kind].items()))
            print(
                f"| {kind} | {len(times)} | {statistics.median(times):.2f} | {high:.2f} | {times[-1]:.2f} | {answers} |"
            )
    print("\nMB at most:", ", ".join(f"{name} {most}" for name, most in memory.most.items()))
    print("Wrong answers:", len(room.wrong), *room.wrong[:10], sep="\n")


if __name__ == "__main__":
    sys.exit(main())
