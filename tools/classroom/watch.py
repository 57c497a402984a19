"""What a submission may take of the machine as a whole: looked at a few times a second, and ended beyond it.

The limits of sandbox.sh are for each process by itself, and for root Linux does not count processes. So somebody has
to add up what all processes of a sandbox have together.
"""

import contextlib
import os
import re
import signal
import threading
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tools.classroom import sandbox

MOST_PROCESSES = 10
"""That a cell may start. The sandbox's own limit counts threads, of which a kernel alone has a dozen."""
EVERY = 0.2
"""Seconds from one look to the next."""
OWN = re.compile(r"(?m)^Rss(?:Anon|Shmem):\s*(\d+) kB")
"""Of a process, memory that is no file's."""


class Watch:
    """Looks at a sandbox while a cell runs in it. `pid` is that of its process outside, 0 between cells: a sandbox that
    is being made still shows all processes of this machine. `why` says for what it was ended, "" if it was not."""

    def __init__(self, most_memory: int) -> None:
        self.pid, self.why, self.most_memory = 0, "", most_memory
        self._over = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def begin(self, pid: int) -> None:
        self.why, self.pid = "", pid

    def rest(self) -> None:
        """Look at nothing until the next `begin`."""
        self.pid = 0

    def stop(self) -> None:
        """Look no more."""
        self.rest()
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            if (pid := self.pid) and (why := self._too_much(pid)):
                self.why, self.pid = why, 0
                end(pid)

    def _too_much(self, pid: int) -> str:
        if started(pid) > MOST_PROCESSES:
            return f"it started more than {MOST_PROCESSES} processes"
        if in_use(pid) > self.most_memory:
            return f"it took more than {self.most_memory / (1 << 30):.2g} GB of memory"
        return ""


def end(pid: int) -> None:
    """End a sandbox, with all of its process group: its process outside may not have made the inside yet, and what it
    is about to start would outlive it."""
    for kill in os.killpg, os.kill:  # it need not lead a group
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def started(pid: int) -> int:
    """How many processes there are beside the sandbox's first one and the one that was asked for."""
    return max(0, len(_inside(pid)) - (1 if sandbox.unsafe() else 2))


def in_use(pid: int) -> int:
    """Bytes of memory that the processes of a sandbox have, and the files in its /tmp."""
    found = 0
    for process in _inside(pid):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            found += sum(1024 * int(size) for size in OWN.findall((process / "status").read_text()))
    with contextlib.suppress(OSError):
        files = os.statvfs(f"/proc/{pid}/root/tmp")
        found += 0 if sandbox.unsafe() else (files.f_blocks - files.f_bfree) * files.f_frsize
    return found


def family(pid: int) -> dict[int, float]:
    """A process and all that it has started, with the seconds of the processors that each took; those of who ended
    before count for who waited for them."""
    taken, children = {}, defaultdict(list)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            _, parent, *fields = (process / "stat").read_text().rpartition(")")[2].split()
            taken[int(process.name)] = sum(map(int, fields[9:13])) / os.sysconf("SC_CLK_TCK")
            children[int(parent)].append(int(process.name))
    found = [pid]
    for each in found:
        found += children[each]
    return {each: taken[each] for each in found if each in taken}


def taken(pid: int, seconds: float) -> float:
    """Of the seconds since a process began, those that are its own and its family's: it worked, on each processor, or
    slept. Not those in which it would have worked, and others had the processors; of these at most two thirds."""
    worked = family(pid)
    return max(sum(worked.values()), seconds - _in_line(worked), seconds / 3)


def _in_line(processes: Iterable[int]) -> float:
    """Seconds that threads of these processes waited for a processor; 0 where the system does not count them."""
    waited = 0
    for each in processes:
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            for thread in Path(f"/proc/{each}/task").iterdir():
                with contextlib.suppress(OSError):  # and so may a thread
                    waited += int((thread / "schedstat").read_text().split()[1])
    return waited / 1e9


def end_family(pid: int) -> None:
    """End a process, and all that it has started. First all are stopped: none starts another one meanwhile, whose
    parent would be gone."""
    stopped: set[int] = set()
    while new := family(pid).keys() - stopped:
        _tell(new, signal.SIGSTOP)
        stopped |= new
    _tell(stopped, signal.SIGKILL)


def _tell(processes: Iterable[int], what: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, what)


def _inside(pid: int) -> list[Path]:
    try:
        if sandbox.unsafe():
            return [process for process in Path("/proc").glob("[0-9]*") if _session(process) == pid]
        return list(Path(f"/proc/{pid}/root/proc").glob("[0-9]*"))
    except OSError:  # it ends at this moment
        return []


def _session(process: Path) -> int:
    with contextlib.suppress(OSError):
        return os.getsid(int(process.name))
    return 0
