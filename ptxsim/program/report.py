"""What was found in a whole program: hazards of its kernels, calls that CUDA refuses, memory that was never freed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

from ..front.kernel import Kernel
from ..front.report import Report, header_of
from ..races.hazards import ORDER, Hazard
from .orders import Piece, Race
from .sites import Sites, near

CLEAN, HAZARDS, FAILED = range(3)
"""What the command ends with."""
TEXT = "PTX"
"""In the place of a file, of a text that names none."""
UNDECIDED = ("step-limit", "unsupported-instruction")
"""Kinds that say that a kernel could not be run, and not that it is wrong."""
MOST_LEAKS, MOST_REFUSED, MOST_LEFT_OUT = 5, 20, 5


@dataclass(frozen=True)
class Launch:
    """The `number`-th launch of the program. Without `judged` it was only computed."""

    number: int
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    seconds: float
    at: str = ""
    judged: bool = True

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def __str__(self) -> str:
        where = f", launched at {self.at}" if self.at else ""
        return f"{self.kernel}<<<{_dims(self.grid)}, {_dims(self.block)}>>> (launch {self.number}{where})"


@dataclass(frozen=True)
class Finding:
    """A hazard, in the launch that had it first; `launches`: in how many. `place` is a file and a line, `quoted` the
    lines of the source that it is about."""

    hazard: Hazard
    place: str
    quoted: tuple[str, ...]
    launch: Launch
    launches: int = 1

    def __str__(self) -> str:
        hazard = self.hazard
        called = ""
        if hazard.call_line:
            here = f"in the function at line {hazard.line}, called here"
            called = (
                f" ({here})"
                if hazard.line
                else f" (called from line {hazard.call_line} of the kernel's file)"
            )
        head = f"{self.place}: {hazard.kind}{called}{hazard.first_of}: {_typed(hazard.message)}"
        more = self.launches - 1
        also = f", and in {more} more launch{'es' * (more > 1)}" if more else ""
        return "\n".join([head, *self.quoted, f"      in {self.launch}{also}"])


@dataclass(frozen=True)
class Refusal:
    """A call of the runtime that CUDA refuses, with the name of the error and why."""

    call: str
    error: str
    why: str
    at: str = ""
    times: int = 1

    def __str__(self) -> str:
        place = f"{self.at}: " if self.at else ""
        times = f" ({self.times} times)" if self.times > 1 else ""
        return f"{place}{self.call} gives {self.error}{times}: {self.why}"


@dataclass(frozen=True)
class Conflict:
    """Work of two streams that touches the same memory, and nothing orders the two."""

    message: str
    at: str = ""
    times: int = 1

    def __str__(self) -> str:
        place = f"{self.at}: " if self.at else ""
        times = f" (the first of {self.times})" if self.times > 1 else ""
        return f"{place}stream-conflict{times}: {self.message}"


@dataclass(frozen=True)
class Leak:
    """Memory that the program never freed."""

    size: int
    at: str = ""


@dataclass(frozen=True)
class ProgramReport:
    """`hazards`: most serious first. `conflicts`: between streams. `refused`: calls that CUDA refuses. `stopped`: why
    the program could not run to its end; "" if it did. `returned`: its own exit status. `left_out`:
    launches that did not run, because they were like others. `repeated`: those that would have changed nothing, and did
    not run. `work`: what the streams did, in the order in which the
    host asked for it. `memory`: the most bytes of the device that it had at a time."""

    program: str
    hazards: tuple[Finding, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    refused: tuple[Refusal, ...] = ()
    leaks: tuple[Leak, ...] = ()
    launches: tuple[Launch, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    stopped: str = ""
    returned: int = 0
    seconds: float = 0.0
    left_out: int = 0
    repeated: int = 0
    work: tuple[Piece, ...] = field(default=(), repr=False)
    memory: int = field(default=0, repr=False)

    @property
    def computed(self) -> int:
        """Launches that were only computed, because they were like others."""
        return sum(not launch.judged for launch in self.launches)

    @property
    def ok(self) -> bool:
        """Whether nothing was found and the program ended well."""
        return self.status == CLEAN

    @property
    def status(self) -> int:
        """0 where nothing was found, 1 with a hazard, a refused call or a program that says itself that it failed, 2
        where it could not be run to its end, or a kernel could not."""
        undecided = [finding for finding in self.hazards if finding.hazard.kind in UNDECIDED]
        if len(undecided) < len(self.hazards) or self.conflicts or self.refused:
            return HAZARDS
        if self.stopped or undecided:
            return FAILED
        return HAZARDS if self.returned else CLEAN

    def __str__(self) -> str:
        return "\n".join([*self.lines(), f"{self.program}: {self.summary()}"])

    def lines(self) -> list[str]:
        """Each finding, and then the notes."""
        lines = [*map(str, (*self.hazards, *self.conflicts)), *map(str, self.refused[:MOST_REFUSED])]
        if len(self.refused) > MOST_REFUSED:
            lines.append(f"and {len(self.refused) - MOST_REFUSED} more calls that CUDA refuses")
        lines += [f"note: {note}" for note in self.notes]
        if self.leaks:
            lines.append(f"note: {self._leaked()}")
        return lines

    def summary(self) -> str:
        """In a line."""
        return f"{self.ran()}, {self.seconds:.1f} s: {self.found()}"

    def ran(self) -> str:
        """How many launches, kernels, blocks."""
        kernels = len({launch.kernel for launch in self.launches})
        blocks = sum(launch.blocks for launch in self.launches)
        return (
            f"{_count(len(self.launches), 'launch', 'es')} of {_count(kernels, 'kernel')}, {_count(blocks, 'block')}"
            + f", {_count(self.computed, 'launch', 'es')} only computed" * bool(self.computed)
            + f", {_count(self.left_out, 'launch', 'es')} left out" * bool(self.left_out)
            + f", {_count(self.repeated, 'launch', 'es')} not run again" * bool(self.repeated)
            if self.launches
            else "no kernel was launched" + f", {len(self.work):,} other calls" * bool(self.work)
        )

    def found(self) -> str:
        """How many findings of each sort."""
        found = [_count(len(self.hazards), "hazard")] if self.hazards else []
        found += [_count(len(self.conflicts), "conflict") + " of streams"] if self.conflicts else []
        found += [f"{_count(len(self.refused), 'call')} refused"] if self.refused else []
        found += [f"the program ended with status {self.returned}"] if self.returned else []
        found += [self.stopped] if self.stopped else []
        return ", ".join(found) or "no hazard found"

    def _leaked(self) -> str:
        shown = [
            f"{_count(leak.size, 'byte')}{' at ' * bool(leak.at)}{leak.at}"
            for leak in self.leaks[:MOST_LEAKS]
        ]
        more = len(self.leaks) - len(shown)
        total = sum(leak.size for leak in self.leaks)
        rest = f", and {more} more" if more else ""
        return (
            f"{_count(total, 'byte')} {'was' if total == 1 else 'were'} never freed: {', '.join(shown)}{rest}"
        )

    def json(self) -> str:
        """For other programs."""
        known = {
            "program": self.program,
            "status": self.status,
            "stopped": self.stopped,
            "returned": self.returned,
            "seconds": round(self.seconds, 3),
            "hazards": [_as_json(finding) for finding in self.hazards],
            "conflicts": [asdict(each) for each in self.conflicts],
            "refused": [asdict(each) for each in self.refused],
            "leaks": [asdict(each) for each in self.leaks],
            "launches": [asdict(each) for each in self.launches],
            "computed": self.computed,
            "left_out": self.left_out,
            "repeated": self.repeated,
            "notes": list(self.notes),
        }
        return json.dumps(known, indent=1)


class Findings:
    """Of one program, as they come."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.sites = Sites()
        self.launches: list[tuple[Launch, int]] = []  # with the site of each
        self.refusals: dict[tuple[str, str, str, int], int] = {}
        self.conflicts: dict[tuple, tuple[Race, int]] = {}
        self.notes: dict[str, None] = {}
        self.left_out: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        self._hazards: dict[tuple, Finding] = {}

    def launched(self, report: Report, file: str, seconds: float, site: int, judged: bool = True) -> None:
        """A launch has ended, or was stopped. `file`: the kernel's."""
        kernel = report.kernel
        number = len(self.launches) + 1
        launch = Launch(number, kernel.name, report.grid, report.block, seconds, judged=judged)
        self.launches.append((launch, site))
        self.notes |= dict.fromkeys(f"{kernel.name}: {note}" for note in report.notes)
        for hazard in report.hazards:
            key = (kernel.name, hazard.kind, hazard.cause, hazard.line, hazard.call_line, hazard.header)
            if old := self._hazards.get(key):
                count = old.hazard.count + hazard.count
                self._hazards[key] = replace(
                    old, hazard=replace(old.hazard, count=count), launches=old.launches + 1
                )
            else:
                place = place_of(kernel, file, hazard)
                self._hazards[key] = Finding(hazard, place, tuple(reversed(report.quote(hazard))), launch)

    def refuse(self, call: str, error: str, why: str, site: int) -> None:
        key = (call, error, why, site)
        self.refusals[key] = self.refusals.get(key, 0) + 1

    def conflict(self, race: Race) -> None:
        """Of two calls the first is told."""
        first, times = self.conflicts.get(race.pair, (race, 0))
        self.conflicts[race.pair] = first, times + 1

    def note(self, text: str) -> None:
        """Each once."""
        self.notes[text] = None

    def leave_out(self, kernel: str) -> None:
        self.left_out[kernel] += 1

    def repeat(self, kernel: str) -> None:
        """A launch that changes nothing did not run."""
        self.repeated[kernel] += 1

    def report(
        self,
        leaks: Iterable[tuple[int, int]],
        stopped: str,
        returned: int,
        seconds: float,
        work: Iterable[Piece] = (),
        memory: int = 0,
    ) -> ProgramReport:
        """`leaks`: bytes and site of each."""
        self.sites.resolve()
        words, of = self.sites.words, self.sites.of
        launches = [replace(launch, at=of(site)) for launch, site in self.launches]
        hazards = sorted(self._hazards.values(), key=lambda finding: ORDER[finding.hazard.kind])
        return ProgramReport(
            self.program,
            tuple(
                replace(
                    each,
                    hazard=replace(each.hazard, message=words(each.hazard.message)),
                    launch=launches[each.launch.number - 1],
                )
                for each in hazards
            ),
            tuple(
                Conflict(words(race.message), of(race.site), times) for race, times in self.conflicts.values()
            ),
            tuple(
                Refusal(call, error, words(why), of(site), times)
                for (call, error, why, site), times in self.refusals.items()
            ),
            tuple(Leak(size, of(site)) for size, site in leaks),
            tuple(launches),
            (*map(words, self.notes), *self._of_others()),
            words(stopped),
            returned,
            seconds,
            self.left_out.total(),
            self.repeated.total(),
            tuple(work),
            memory,
        )

    def _of_others(self) -> list[str]:
        """What did not run, or was only computed."""
        computed = Counter(launch.kernel for launch, _ in self.launches if not launch.judged)
        told = {
            "only computed": (computed, "nobody looked for races in them"),
            "left out": (self.left_out, "what the program computed may not be right"),
        }
        notes = [
            f"{_count(each.total(), 'launch', 'es')} like others before {what} ({_most(each)}): {so}"
            for what, (each, so) in told.items()
            if each
        ]
        if self.repeated:
            notes.append(
                f"{_count(self.repeated.total(), 'launch', 'es')} not run again ({_most(self.repeated)}): the same one "
                "before left all memory as it was, and nothing was written since. All numbers are right"
            )
        return notes


def _most(launches: Counter[str]) -> str:
    """Of which kernels."""
    each = ", ".join(f"{times:,} of {kernel}" for kernel, times in launches.most_common(MOST_LEFT_OUT))
    return each + ", ..." * (len(launches) > MOST_LEFT_OUT)


def place_of(kernel: Kernel, file: str, hazard: Hazard) -> str:
    """`src/bad.cu:12`."""
    if hazard.line:
        return f"{near(file) if file else TEXT}:{hazard.call_line or hazard.line}"
    if hazard.header:
        name, _, line = hazard.header.rpartition(":")
        path = header_of(kernel, name)
        return f"{near(str(path)) if path else name}:{line}"
    return near(file) if file else kernel.name


def _typed(message: str) -> str:
    """What the library says, in words of this command."""
    return message.replace("shared_mem=..., in bytes", "the third number in <<<...>>>")


def _as_json(finding: Finding) -> dict:
    hazard = finding.hazard
    return {
        "kind": hazard.kind,
        "cause": hazard.cause,
        "place": finding.place,
        "line": hazard.line,
        "call_line": hazard.call_line,
        "header": hazard.header,
        "message": hazard.message,
        "count": hazard.count,
        "source": [line.strip() for line in finding.quoted],
        "kernel": finding.launch.kernel,
        "launch": asdict(finding.launch),
        "launches": finding.launches,
    }


def _dims(three: tuple[int, int, int]) -> str:
    x, y, z = three
    return str(x) if (y, z) == (1, 1) else f"({x}, {y})" if z == 1 else f"({x}, {y}, {z})"


def _count(number: int, what: str, plural: str = "s") -> str:
    return f"{number:,} {what}{plural * (number != 1)}"
