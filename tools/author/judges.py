"""Everything that ever judged the simulator, run again beside the last time: `make judges`.

`python -m tools.author.judges [FOLDER] [--only NAME ...] [--programs] [--keep]`; FOLDER has checkouts of the suites of
others, as owner+name (suites.py): a row whose checkout or tests are not there says so. --programs: whole programs, too,
which take an hour and a quarter more.

What was judged last stands in tests/golden/judges.json. A case that is wrong now and was not then, or a row with fewer
cases, ends this with status 1 and leaves that row of the record as it is; --keep writes it all the same, for who has
read why. A row that did not get worse is written as soon as it was judged.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.rules import ROOT
from tools.author import programs, suites
from tools.author.suites import RIGHT, Verdicts

RECORD = ROOT / "tests" / "golden" / "judges.json"
BY_TESTS = {
    "results of an H100: instructions": ["tests/ptxsim/instructions"],
    "results of an H100: kernels": ["tests/ptxsim/test_kernels.py"],
    "compute-sanitizer, 375 kernels": ["tests/ptxsim/races/test_sanitizer.py"],
    "compute-sanitizer, newer kinds": ["tests/ptxsim/races/test_newer_kinds.py"],
    "Nsight Compute's counters": ["tests/ptxsim/observe"],
    "mutants": ["tests/ptxsim/races/test_mutants.py", "tests/ptxsim/races/test_hopper_mutants.py"],
    "random programs, exact reference": [
        "tests/ptxsim/races/test_random_races.py",
        "tests/ptxsim/machine/test_random_programs.py",
    ],
    "wrong kernels of the lessons": [
        "tests/lessons/test_lesson_kernels.py::test_wrong_kernel_is_rejected",
        "tests/lessons/test_lesson_07_mistakes.py",
    ],
    "right kernels of the lessons": [
        "tests/lessons/test_lesson_kernels.py::test_no_false_alarm_with_the_trace_and_another_order_of_warps"
    ],
    "after public reports of bugs": ["tests/bugs"],
    "real bugs, before and after": ["tests/bugs/beside_sanitizer"],
    "PTX of other compilers": ["tests/ptxsim/compilers"],
    "planted faults, frozen": ["tests/ptxsim/program/test_planted.py"],
    "rules of races, units and orders": ["tests/ptxsim/races", "tests/ptxsim/units"],
}
"""Name of a row: its tests. A test of two rows belongs to the one that names it more exactly."""
OF_OTHERS: dict[str, Callable[[Path], Verdicts | None]] = {
    "Indigo, 590 kernels": suites.indigo,
    "Indigo on HiRace's six graphs": suites.hirace,
}
PROGRAMS: dict[str, Callable[[Path, Path], Verdicts | None]] = {
    "planted faults, 80 programs": programs.planted_faults,
    "public programs, 77 of 91": programs.public_programs,
    "twelve public repositories": programs.in_repositories,
}


class Row(NamedTuple):
    """What a judge said: how many cases, and those that are not as they should be."""

    cases: int
    wrong: Verdicts

    @classmethod
    def of(cls, verdicts: Verdicts) -> "Row":
        return cls(len(verdicts), {case: said for case, said in sorted(verdicts.items()) if said != RIGHT})

    def worse_than(self, before: "Row") -> list[str]:
        """What to read before anything lands."""
        found = [f"{case}: {said}" for case, said in self.wrong.items() if case not in before.wrong]
        fewer = before.cases - self.cases
        return [*found, *([f"{fewer} cases fewer"] if fewer > 0 else [])]


def by_tests(names: list[str]) -> dict[str, Row | None]:
    """These rows of BY_TESTS: every case of each test, in as many processes as there are cores."""
    there = {
        name: [path for path in BY_TESTS[name] if (ROOT / path.partition("::")[0]).exists()] for name in names
    }
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "tests.xml"
        every = [path for paths in there.values() for path in paths]
        others = [path for name, paths in BY_TESTS.items() if name not in names for path in paths]
        inside = [
            f"--ignore={path}" for path in others if path.startswith(tuple(f"{each}/" for each in every))
        ]
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--numprocesses", "auto"),
                *(f"--junitxml={report}", *inside, *every),
            ],
            cwd=ROOT,
            env=os.environ | {"COURSE_EVERY_CASE": "1"},
            stdout=sys.stderr,
        )
        verdicts = _verdicts(ElementTree.parse(report).getroot())
    rows: dict[str, Verdicts] = {name: {} for name in BY_TESTS}
    for case, said in verdicts.items():
        rows[owner(case)][case] = said
    return {name: Row.of(rows[name]) if there[name] else None for name in names}


def owner(case: str) -> str:
    """The row of BY_TESTS that a test belongs to, whichever rows are asked for."""
    paths = ((path, name) for name, paths in BY_TESTS.items() for path in paths)
    return next(name for path, name in sorted(paths, reverse=True) if case.startswith(path))


def _verdicts(report: ElementTree.Element) -> Verdicts:
    """{test: verdict} of pytest's XML; without those that were skipped."""
    found: Verdicts = {}
    for case in report.iter("testcase"):
        said = RIGHT
        for ending in case:
            if ending.tag == "skipped" and ending.get("type") == "pytest.skip":
                said = ""
            elif ending.tag in ("failure", "error", "skipped"):
                said = (
                    "known" if ending.tag == "skipped" else (ending.get("message") or "").split("\n")[0][:200]
                )
        if said:
            file = case.get("classname", "").replace(".", "/") + ".py"
            found[f"{file}::{case.get('name')}"] = said
    return found


def recorded() -> dict[str, Row]:
    if not RECORD.exists():
        return {}
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    return {name: Row(row["cases"], row["wrong"]) for name, row in rows.items()}


def keep(name: str, row: Row) -> None:
    """Write this row into the record; the others stay as they were."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    here = {"commit": commit.stdout.strip(), "date": date.today().isoformat()}
    before = json.loads(RECORD.read_text(encoding="utf-8"))["rows"] if RECORD.exists() else {}
    kept = before | {name: here | row._asdict()}
    whole = {"made_by": "python -m tools.author.judges", "rows": dict(sorted(kept.items()))}
    RECORD.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table(now: dict[str, Row | None], before: dict[str, Row]) -> str:
    lines = ["| judge | cases | right | last time | worse |", "|---|--:|--:|--:|--:|"]
    for name, row in now.items():
        last = before.get(name)
        then = f"{last.cases - len(last.wrong)} of {last.cases}" if last else "-"
        if row is None:
            lines.append(f"| {name} | not there | | {then} | |")
        else:
            worse = len(row.worse_than(last)) if last else 0
            lines.append(f"| {name} | {row.cases} | {row.cases - len(row.wrong)} | {then} | {worse or ''} |")
    return "\n".join(lines)


def judge(options: argparse.Namespace) -> Iterator[tuple[str, Row | None]]:
    """The rows that are asked for, each as soon as it was judged; None where its checkout or tests are not there."""

    def chosen(names: Iterable[str]) -> list[str]:
        return [name for name in names if not options.only or any(word in name for word in options.only)]

    if tests := chosen(BY_TESTS):
        yield from by_tests(tests).items()
    for name in chosen(OF_OTHERS):
        yield name, _row(OF_OTHERS[name](options.folder))
    for name in chosen(PROGRAMS) if options.programs else ():
        with tempfile.TemporaryDirectory() as into:
            yield name, _row(PROGRAMS[name](options.folder, Path(into)))


def _row(verdicts: Verdicts | None) -> Row | None:
    return Row.of(verdicts) if verdicts else None


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tools.author.judges")
    asked.add_argument("folder", nargs="?", type=Path, default=Path("nowhere"))
    asked.add_argument("--only", nargs="+", default=[], metavar="NAME", help="rows with one of these words")
    asked.add_argument("--programs", action="store_true")
    asked.add_argument("--keep", action="store_true")
    options = asked.parse_args()
    began, before = time.monotonic(), recorded()
    now: dict[str, Row | None] = {}
    worse: list[str] = []
    for name, row in judge(options):
        now[name] = row
        found = row.worse_than(before[name]) if row and name in before else []
        worse += [f"{name}: {what}" for what in found]
        if row and (not found or options.keep):
            keep(name, row)
    print(table(now, before), *worse, f"{(time.monotonic() - began) / 60:.1f} minutes", sep="\n")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
