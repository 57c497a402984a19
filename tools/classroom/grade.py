"""Grade what learners handed in, with nbgrader's own commands: `make grade` calls this.

submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb in build/classroom is graded once, in the sandbox, and again when its
content changes, or the judge does: graded.json knows which content the marks are of, because a file's date says
nothing about that. Feedback for each learner is written, all marks to grades.csv, and a table is printed.
"""

import csv
import hashlib
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from hiding_latency.outcome import aligned
from ptxsim import printable, printable_line
from ptxsim.ground import whole
from tools.classroom import sandbox, verdicts, watch, wide
from tools.classroom.places import LARGEST, MENDED, SUBMITTED, graded, submitted
from tools.classroom.release import COURSE, unusable
from tools.classroom.results import Found
from tools.install import ROOT, alone

ONE = "tools.classroom.one"
SECONDS = {ONE: 900, "nbgrader": 120}
"""For a submission, whose cells may run for 600 of them, and for the table."""

SLOW = 20
"""Seconds that a submission may take while others wait, at the least."""
LONGER = 2
"""Times what others took: more than that it may not take then."""
FIRST = 40
"""Seconds before one of its assignment is done."""
SEVERAL = 3
"""So many that take too long, and none is done yet: the machine may be slow, and the next ones have twice the time."""
EVERY = 0.5
"""Seconds from one look at it to the next."""
LATER = "it takes longer than the others: make grade once more grades it, with ten minutes"
WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""It ends when we do, however that is."""
MOST_SAID = 1 << 20
"""Bytes of what is said about one."""


def handed_in(course: Path, folder: str = SUBMITTED) -> dict[str, list[str]]:
    """Assignment -> the students who handed it in; only assignments that the course has."""
    found: dict[str, list[str]] = {}
    for place in sorted((course / folder).glob("*/*")):
        if (course / "release" / place.name).is_dir() and is_name(place.parent.name):
            found.setdefault(place.name, []).append(place.parent.name)
    return found


def is_name(student: str) -> bool:
    """Whether a folder is called as a learner may be: a table shows that name, and a spreadsheet computes nothing."""
    return student.isprintable() and not student.startswith((".", "=", "+", "-", "@"))


def misplaced(course: Path) -> list[str]:
    """The notebooks in submitted/ that are no `STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb`, and the folders whose name no
    learner can have, one line each."""
    expected = {
        submitted(course, student, name)
        for name, students in handed_in(course).items()
        for student in students
    }
    folders = sorted(each.name for each in (course / SUBMITTED).iterdir() if each.is_dir())
    named = [each for each in folders if not each.startswith(".") and not is_name(each)]
    there = {
        path
        for path in (course / SUBMITTED).rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts and path.relative_to(course).parts[1] not in named
    }
    why = "a learner's name has only letters that are seen, and none of = + - @ in front: rename the folder"
    return [
        *(
            f"not graded, it is in the wrong place: {path.relative_to(course)}"
            for path in sorted(there - expected)
        ),
        *(f"not graded, {why}: {SUBMITTED}/{each}" for each in named),
    ]


def notes(course: Path) -> dict[str, dict]:
    """ "STUDENT/ASSIGNMENT" -> "hash": of what was graded last; "why": why it could not be; "points" of each exercise;
    "remark"."""
    try:
        return json.loads((course / "graded.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # everything is graded again


def grade(course: Path, at_once: int = 0) -> list[str]:
    """Grade, write feedback and export; returns what could not be done, one line each. `at_once`: how many submissions;
    0: one for each processor. One that takes longer than the others is put off, until the next call: nobody waits for
    it now, and then it has its time."""
    wrong, noted, judge = [], notes(course), verdicts.version()
    new = [each for each in _all(course) if _is_new(course, each, noted, judge)]
    print(f"{len(new)} to grade, {len(_all(course)) - len(new)} as before", flush=True)
    at_once = at_once or len(os.sched_getaffinity(0))
    late = [each for each in new if _is_late(course, each, noted, judge)]
    first = [each for each in new if each not in late]
    random.shuffle(first)  # by whom we learn how long others take, nobody chooses
    patience = Patience() if len(new) > at_once else None  # else nobody waits
    results = chain(_in_turn(course, first, at_once, patience), _in_turn(course, late, at_once))
    for number, ((name, student), result) in enumerate(results, 1):
        told = f"{number} of {len(new)}, {student}, {name}: {result.told()}"
        print(f"  {printable_line(told)}", flush=True)
        noted[f"{student}/{name}"] = result.note(judge, noted.get(f"{student}/{name}", {}))
        whole.write(course / "graded.json", json.dumps(noted, indent=1))
        whys = [result.why] if result.why else result.unknown()
        begins = "not graded yet" if result.late else "cannot be graded"
        wrong += [f"{begins}: {SUBMITTED}/{student}/{name}, {why}" for why in whys]
        if not result.why and not (course / "feedback" / student / name / f"{name}.html").is_file():
            wrong.append(f"no feedback page: {SUBMITTED}/{student}/{name}")
    exported, said = _run(course, "nbgrader", "export")
    _log(course, said)
    return sorted(wrong) + ["failed: nbgrader export, so grades.csv is as it was"] * (not exported)


class Patience:
    """How long a submission may take among others: by what those of the same assignment took."""

    def __init__(self) -> None:
        self.somebody_waits = True
        self._took: defaultdict[str, list[float]] = defaultdict(list)
        self._in_vain: Counter[str] = Counter()

    def seconds(self, name: str) -> float:
        """Of one of this assignment, now."""
        if took := self._took[name]:
            return max(SLOW, LONGER * statistics.median(took))
        return FIRST * 2.0 ** (self._in_vain[name] // SEVERAL) if self.somebody_waits else math.inf

    def learn(self, name: str, result: "Result") -> bool:
        """How long one took. Returns whether it was ended before it had the time that others have."""
        self._took[name] += [result.taken or result.seconds] * (result.seconds > 0 and not result.late)
        self._in_vain[name] += result.late
        return result.late and (not self._took[name] or result.seconds < self.seconds(name))


def _in_turn(
    course: Path, submissions: list[tuple[str, str]], at_once: int, patience: Patience | None = None
) -> Iterator[tuple[tuple[str, str], "Result"]]:
    """Grade these, so many at once, each as long as others have patience: ((assignment, student), result) of each that
    is done, or put off."""
    with ThreadPoolExecutor(at_once) as pool:

        def begin(name: str, student: str) -> Future[Result]:
            turn = Turn(partial(patience.seconds, name)) if patience else None
            return pool.submit(_grade_safely, course, name, student, turn)

        running = {begin(*each): each for each in submissions}
        try:
            while running:
                if patience:
                    patience.somebody_waits = len(running) > at_once
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    each, result = running.pop(done), done.result()
                    if patience and patience.learn(each[0], result):
                        running[begin(*each)] = each  # behind all others
                    else:
                        yield each, result
        finally:
            pool.shutdown(cancel_futures=True)


class Turn:
    """Of one submission: the seconds that it took so far, of its own (watch.taken), and whether it may take more."""

    def __init__(self, most: Callable[[], float]) -> None:
        self.taken, self._most = 0.0, most

    def go_on(self, taken: float) -> None:
        """It took so much. Raises PutOff where that is more than it may."""
        self.taken = taken
        if taken > self._most():
            raise PutOff


class PutOff(Exception):
    """A submission takes longer than others wait for it."""


def _all(course: Path) -> list[tuple[str, str]]:
    """(assignment, student) of all that was handed in."""
    return [(name, student) for name, students in handed_in(course).items() for student in students]


def _is_new(course: Path, each: tuple[str, str], noted: dict[str, dict], judge: str) -> bool:
    """Whether a submission has no marks yet, or those of another content, or by a judge of another version."""
    name, student = each
    return not graded(course, student, name).is_file() or not _is_noted(course, each, noted, judge)


def _is_late(course: Path, each: tuple[str, str], noted: dict[str, dict], judge: str) -> bool:
    """Whether it was put off when it was last to be graded."""
    name, student = each
    return noted.get(f"{student}/{name}", {}).get("late", False) and _is_noted(course, each, noted, judge)


def _is_noted(course: Path, each: tuple[str, str], noted: dict[str, dict], judge: str) -> bool:
    """Whether what is noted of it is of this content, and by this judge."""
    name, student = each
    before = noted.get(f"{student}/{name}", {})
    return before == before | {"hash": _hash(submitted(course, student, name)), "judge": judge}


@dataclass(frozen=True)
class Result:
    """Of one submission: the hash of what was graded, why it could not be, its seconds, what was found, what a teacher
    should know besides, whether it was put off, and the seconds of its own."""

    content: str
    why: str = ""
    seconds: float = 0.0
    found: tuple[Found, ...] = ()
    remark: str = ""
    late: bool = False
    taken: float = 0.0

    def told(self) -> str:
        """In a line: points, and of what is not right the reason."""
        if self.late:
            return f"put off, {self.seconds:.0f} s"
        if self.why:
            return f"cannot be graded, {self.why}"
        points = (
            f"{sum(each.points or 0 for each in self.found):g} of {sum(each.most for each in self.found):g}"
        )
        remark = [self.remark] if self.remark else []
        reasons = [f"{each.exercise} {each.reason}" for each in self.found if each.points != each.most]
        return "; ".join([f"{points}, {self.seconds:.0f} s", *remark, *reasons])

    def unknown(self) -> list[str]:
        """The exercises that nobody knows the points of, and why."""
        return [f"{each.exercise} {each.reason}" for each in self.found if each.points is None]

    def note(self, judge: str, before: dict) -> dict[str, object]:
        """As graded.json keeps it, with the judge's version. `before`: what was noted last."""
        points = {each.exercise: each.points for each in self.found}
        claims = [each.exercise for each in self.found if each.claimed]
        claimed = f"the file says passed and the check does not: {', '.join(claims)}" if claims else ""
        remark = "; ".join(filter(None, [self.remark, *self.unknown(), claimed, self._other(before, points)]))
        known = {"hash": self.content, "judge": judge, "why": self.why, "points": points, "remark": remark}
        return known | {"late": self.late}

    def _other(self, before: dict, points: dict[str, float | None]) -> str:
        """What the judge before said of the same file, where that was something else; "" where it was not."""
        old = before.get("points", {})
        if before.get("hash") != self.content or not old or old == points:
            return ""
        return f"an earlier version of the course gave {sum(each or 0 for each in old.values()):g}"


def _grade_safely(course: Path, name: str, student: str, turn: Turn | None) -> Result:
    """Grade a submission; what goes wrong with one, whatever its file may hold, ends no other one's grading."""
    try:
        return _grade_one(course, name, student, turn)
    except Exception as error:
        shutil.rmtree(course / "autograded" / student / name, ignore_errors=True)
        return Result("", f"grading stops with {type(error).__name__}: {' '.join(str(error).split())[:80]}")


def _grade_one(course: Path, name: str, student: str, turn: Turn | None) -> Result:
    """Grade a submission, and forget what was said of an older one."""
    begin = time.monotonic()
    content = _hash(submitted(course, student, name))  # of the file as it is graded, whatever comes meanwhile
    for folder in "autograded", "feedback", MENDED:
        shutil.rmtree(course / folder / student / name, ignore_errors=True)
    with tempfile.TemporaryDirectory() as empty:
        told = Path(empty, "told.json")
        try:
            worked, said = _run(course, ONE, str(course), name, student, str(told), turn=turn)
        except PutOff:
            shutil.rmtree(course / "autograded" / student / name, ignore_errors=True)
            return Result(content, LATER, turn.taken, late=True)
        answer = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {}
    _log(course, said)
    if worked and answer and graded(course, student, name).is_file():
        found = tuple(Found(**each) for each in answer["found"])
        own = turn.taken if turn else 0.0
        return Result(content, "", time.monotonic() - begin, found, answer["remark"], taken=own)
    shutil.rmtree(course / "autograded" / student / name, ignore_errors=True)  # it may lie there, not run
    if why := answer.get("why"):
        return Result(content, printable_line(why))
    errors = re.findall(r"(?m)^[\w.]*(?:Error|Exception): .+$", said)
    return Result(
        content, f"nbgrader stopped ({printable_line(errors[-1])[:80] if errors else 'see grade.log'})"
    )


def _hash(path: Path) -> str:
    """Of a file's content; of one that is not read because of its size, that."""
    if not path.is_file():
        return ""
    size = path.stat().st_size
    return hashlib.sha256(path.read_bytes()).hexdigest() if size <= LARGEST else f"{size} bytes"


def _run(course: Path, module: str, *arguments: str, turn: Turn | None = None) -> tuple[bool, str]:
    """Run a module in the course's folder. Returns whether it went well, and what it said. What learners wrote passes
    through it, so it has limits. Raises PutOff when its turn is over."""
    limits = [] if sandbox.unsafe() else ["prlimit", f"--as={sandbox.MEMORY}", *WITH_US]
    command = [*limits, sys.executable, "-W", "ignore", "-m", module, *arguments]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    with tempfile.TemporaryFile() as log:
        outputs = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        process = subprocess.Popen(command, cwd=course, env=environment, **outputs)
        begin = time.monotonic()
        try:
            while not _ended(process, EVERY) and (seconds := time.monotonic() - begin) < SECONDS[module]:
                if turn:
                    turn.go_on(watch.taken(process.pid, seconds))
            if process.poll() is None:
                log.write(f"Error: more than {SECONDS[module]} seconds\n".encode())
        finally:
            if process.poll() is None:
                watch.end_family(process.pid)
            process.wait()
        log.seek(0)
        return process.returncode == 0, log.read(MOST_SAID).decode(errors="replace")


def _ended(process: subprocess.Popen, seconds: float) -> bool:
    """Whether a process ends in this time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _log(course: Path, said: str) -> None:
    """Keep what was said, in one piece, also where several submissions are graded at once."""
    with open(course / "grade.log", "a", encoding="utf-8") as log:
        log.write(printable(said))


def table(rows: Iterable[dict[str, str]]) -> str:
    """A line for each student, a column for each assignment: points, "?" what cannot be graded, "-" what never came."""
    marks: dict[str, dict[str, str]] = {}
    most: dict[str, str] = {}
    for row in rows:
        name = row["assignment"]
        marks.setdefault(row["student_id"], {})[name] = f"{float(row['score']):g}" if row["score"] else "?"
        most[name] = f"{float(row['max_score']):g}"
    lines = [["student", *(f"{name} ({points})" for name, points in most.items())]]
    lines += [[student, *(marks[student].get(name, "-") for name in most)] for student in sorted(marks)]
    return "\n".join(aligned(lines))


def main() -> int:
    """0 when there are marks: a file that has none is named, and why, and is no mistake of who typed this."""
    if not (COURSE / "release").is_dir():
        sys.exit("There is no build/classroom yet: run make classroom first.")
    if not handed_in(COURSE):
        sys.exit(
            "Nothing was handed in: put files at build/classroom/submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb, for "
            "example submitted/kim/assignment_00_start_here/assignment_00_start_here.ipynb."
        )
    if reason := sandbox.refusal() or unusable(COURSE):
        sys.exit(reason)
    with alone(ROOT / "build" / "classroom.lock", "make classroom or make grade runs here: waiting for it."):
        wrong = misplaced(COURSE) + grade(COURSE)
    with open(COURSE / "grades.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wide.write(COURSE / "grades_wide.csv", rows, notes(COURSE))
    print(f"\n{table(rows)}\n")
    print("Marks: build/classroom/grades.csv, and grades_wide.csv with a line for each learner.")
    print("Feedback, a page for each learner: build/classroom/feedback.")
    if wrong:
        said = [*map(printable_line, wrong), "What nbgrader said is in build/classroom/grade.log."]
        print("\n".join(said), file=sys.stderr)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
