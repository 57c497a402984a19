"""A room of learners for some minutes, with --minutes and --clients:
`python -m tests.hiding_latency.compile_service.load`.

Thirty readers with addresses of their own, as in one network, ask one server. Each edits a kernel of a lesson and has
it compiled, reads for 20 to 60 seconds, and goes on; four of them send texts that never end, and nothing else. Among
the others' texts are broken, greedy, too deep, huge and hostile ones. Every answer is judged; the tables say how long
they took, how busy the machine was, and what memory the server and its processes had at most. Ends with 1 when an
answer was wrong. For figures the machine must have nothing else to do.
"""

import argparse
import http.client
import json
import os
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
MIX = {"edited": 60, "broken": 20, "the same": 6, "a page": 5, "hostile": 3, "greedy": 1, "large": 1, "deep": 2,
       "huge": 1, "no JSON": 1}  # fmt: skip
"""Of a hundred requests of those whose texts end."""
ENDLESS_OF = 30 / 4
"""Of so many readers one sends texts that never end."""
PAUSE = 20.0, 60.0
"""Seconds from an answer to the next edit."""
EDITS = ("edited", "broken")
"""What has its verdict, PTX or the compiler's errors, within seconds:"""
MEDIAN, HIGH = 3.0, 12.0
"""In the median, and 95 of 100."""


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
        endless = number % ENDLESS_OF < 1
        time.sleep(dice.uniform(0, PAUSE[1] - PAUSE[0]))
        turn = 0
        while time.monotonic() < self.until:
            turn += 1
            (kind,) = ["endless"] if endless else dice.choices(list(MIX), MIX.values())
            self.one(kind, number, turn, dice)
            time.sleep(max(0, min(dice.uniform(*PAUSE), self.until - time.monotonic())))

    def one(self, kind: str, number: int, turn: int, dice: random.Random) -> None:
        kernel = dice.choice(KERNELS)
        body, right = self.request(kind, kernel, f"{number}.{turn}", dice)
        began = time.monotonic()
        try:
            sender = f"127.0.1.{number + 1}"
            status, said = self.post(body, sender) if kind != "a page" else self.get(sender)
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
                return asked(ENDLESS % dice.randrange(150, 190) + f"// {mark}"), stopped
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

    def post(self, body: bytes, sender: str) -> tuple[int, str]:
        return self.send(sender, "POST", "/api/compile", body, {"Content-Type": "application/json"})

    def get(self, sender: str) -> tuple[int, str]:
        return self.send(sender, "GET", "/", None, {"Accept-Encoding": "gzip"})

    def send(self, sender: str, *request) -> tuple[int, str]:
        """All of 127.x.x.x is this machine, so there are many senders."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=180, source_address=(sender, 0)
        )
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
    made.add_argument("--minutes", type=float, default=2.5)
    made.add_argument("--clients", type=int, default=30)
    asked = made.parse_args()
    with tempfile.TemporaryDirectory() as book:
        (Path(book) / "index.html").write_text("<p>a page of the book</p>" * 4000)
        command = [sys.executable, "-m", "hiding_latency", "serve", book, "--port", "0", "--host", "0.0.0.0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                first = [server.stdout.readline() for _ in range(2)]
                print(*first, sep="", end="", flush=True)
                return fill(int(re.search(r":(\d+)/", first[0])[1]), server.pid, asked)
            finally:
                server.terminate()


def fill(port: int, server: int, asked: argparse.Namespace) -> int:
    room, memory = Room(port), Memory(server)
    before, began = _busy(), time.monotonic()
    room.until = began + 60 * asked.minutes
    learners = [threading.Thread(target=room.learner, args=(number,)) for number in range(asked.clients)]
    for learner in learners:
        learner.start()
    while any(learner.is_alive() for learner in learners):
        memory.look()
        time.sleep(0.5)
    memory.look()
    table(room)
    busy = (_busy() - before) / (time.monotonic() - began)
    print("\nMB at most:", ", ".join(f"{name} {most}" for name, most in memory.most.items()))
    print(f"Cores at work: {busy:.1f} of {os.cpu_count()}, in the mean; of the server and of all else here.")
    print("Wrong answers:", len(room.wrong), *room.wrong[:10], sep="\n")
    tell_how_soon(room)
    return 1 if room.wrong else 0


def table(room: Room) -> None:
    print("\n| text | how many | median s | 95 % s | most s | answers |\n|---|--:|--:|--:|--:|---|")
    for kind in ["endless", *MIX]:
        if times := sorted(room.seconds[kind]):
            answers = ", ".join(f"{status}: {count}" for status, count in sorted(room.statuses[kind].items()))
            cells = statistics.median(times), _high(times), times[-1]
            print(f"| {kind} | {len(times)} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {answers} |")


def tell_how_soon(room: Room) -> None:
    times = sorted(second for kind in EDITS for second in room.seconds[kind])
    if times:
        median, high = statistics.median(times), _high(times)
        in_time = f"{median:.2f} s (median, at most {MEDIAN:g}) and {high:.2f} s (95 %, at most {HIGH:g})"
        verdict = "in time" if median <= MEDIAN and high <= HIGH else "TOO LATE: the room needs more cores"
        print(f"{len(times)} edits: verdict in {in_time}: {verdict}")


def _high(times: list[float]) -> float:
    """Below it are 95 of 100; `times` from small to large."""
    return times[min(len(times) - 1, round(0.95 * len(times)))]


def _busy() -> float:
    """Seconds that the machine's cores have worked since it started."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
