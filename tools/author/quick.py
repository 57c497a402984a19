"""The tests of what changed since the last commit: `make quick`. Style and import rules first.

A changed file asks for the tests that lie where it lies (tests/ptxsim/races for ptxsim/races), and for those that TABLE
names. It is no proof: `make test` runs all of them.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = "tests/tools/test_imports.py"
PYTEST = ("-q", "--numprocesses=2", "--no-header")
TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ptxsim/instructions/*.py", (
        "tests/ptxsim/instructions/test_instruction_results.py::{results}",
        "tests/ptxsim/instructions/test_instruction_results.py::test_frozen_results_are_current",
        "tests/ptxsim/instructions/test_instruction_cases.py",
    )),
    ("tests/kernels/instruction_cases.py", (
        "tests/ptxsim/instructions/test_instruction_results.py::test_frozen_results_are_current",
        "tests/ptxsim/instructions/test_instruction_cases.py",
    )),
    ("ptxsim/gpus.py", (
        "tests/ptxsim/test_gpus.py",
        "tests/ptxsim/clock/test_engines.py",
        "tests/course_lib/measure/test_bench.py",
        "tests/course_lib/matmul/test_tune.py",
    )),
    ("ptxsim/*.py", ("tests/ptxsim/test_launch.py", "tests/ptxsim/test_report_page.py")),
    ("ptxsim/races/*.py", (
        "tests/ptxsim/races/test_hazards_cases.py",
        "tests/ptxsim/races/test_messages.py",
        "tests/ptxsim/test_report_page.py",
    )),
    ("ptxsim/races/hazards.py", ("tests/tools/author/test_kinds.py",)),
    ("ptxsim/*/*.py", ("tests/ptxsim/test_launch.py",)),
    ("course_lib/exercises/answers/*.py", ("tests/lessons/test_lesson_kernels.py -k {exercises}",)),
    ("tests/lessons/lesson_*.py", ("tests/lessons/test_lesson_kernels.py -k {exercises}",)),
    ("tests/lessons/bank_*.py", ("tests/lessons/test_lesson_kernels.py -k {exercises}",)),
    ("notebooks/deeper/*.ipynb", (
        "tests/lessons/test_notebooks_static.py",
        "tests/lessons/test_lesson_kernels.py -k {exercises}",
        "{file}",
    )),
    ("notebooks/exercises/*.ipynb", ("tests/lessons/test_lesson_kernels.py -k {exercises}",)),
    ("notebooks/*.ipynb", (
        "tests/lessons/test_notebooks_static.py",
        "tests/lessons/test_sittings.py",
        "tests/lessons/test_predictions.py",
        "tests/lessons/test_lesson_kernels.py::test_every_notebook_with_kernels_has_a_room",
        "tests/lessons/test_lesson_kernels.py::test_every_kernel_of_the_lessons_is_listed",
        "tests/course_lib/measure/test_measurements.py",
        "{file}",
    )),
    ("course_lib/include/*", (
        "tests/lessons/test_tensor_core_headers.py",
        "tests/course_lib/measure/test_measurements.py",
    )),
    ("course_lib/*.py", ("tests/course_lib/gpu/test_device.py",)),
    ("tools/classroom/*.py", ("tests/tools/classroom/test_assignment.py",)),
    ("tools/book/*", ("tests/tools/book/test_book.py",)),
    ("tests/*test_*.py", ("{file}",)),
    ("docs/hangs.md", ("tests/tools/test_hangs.py",)),
    ("docs/*", ("tests/tools/test_contributing.py", "tests/lessons/test_sittings.py")),
    ("*.md", ("tests/tools/test_contributing.py", "tests/tools/test_pages.py")),
    ("*.toml", ("tests/tools/test_wheel.py::test_every_package_is_named", "tests/tools/test_hosts.py")),
    ("requirements.lock", ("tests/tools/test_hosts.py",)),
)  # fmt: skip
"""What else a changed file asks for, by its name. `{file}`: itself; `{results}`: the cases of the instructions that the
file registers; `{exercises}`: those of its lesson."""

SLOW = (
    "tests/ptxsim",
    "tests/ptxsim/instructions",
    "tests/ptxsim/races",
    "tests/tools",
    "tests/tools/classroom",
)  # TABLE names what is quick


def main() -> int:
    """0 when style, import rules and the tests are all right."""
    changed = changes()
    steps = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
    status = max(run(step) for step in steps)
    stale = stale_reports()
    if stale:
        print(
            "These words of reports stand in outputs of notebooks and nowhere in ptxsim any more: `make outputs`."
        )
        print("\n".join(f"  {path}: {text}" for text, path in stale.items()))
    chosen = [IMPORTS, *tests_of(changed)]
    print(f"== {len(changed)} changed files, {len(chosen)} places with tests")
    status = max([status, bool(stale), *map(run_tests, grouped(chosen))])
    print("quick: all right; `make test` is the proof" if not status else "quick: something is wrong")
    return status


def changes() -> list[str]:
    """Files that differ from the last commit, and new ones that git does not ignore."""
    asked = (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    return sorted({file for ask in asked for file in git(*ask).splitlines()})


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def tests_of(changed: Iterable[str]) -> list[str]:
    """What pytest is given for these files, without repetitions."""
    found: dict[str, None] = {}
    for file in changed:
        found |= dict.fromkeys(beside(file))
        for pattern, tests in TABLE:
            if fnmatch(file, pattern) and (ROOT / file).exists():
                found |= dict.fromkeys(filled for test in tests if (filled := fill(test, file)))
    return list(found)


def beside(file: str) -> list[str]:
    """The tests that lie where a file of the two packages, or of tools, lies: of its name, else of its room."""
    place = Path(file)
    if place.suffix != ".py" or place.parts[0] not in ("ptxsim", "course_lib", "tools"):
        return []
    room = Path("tests", *place.parts[:-1])
    own = room / f"test_{place.stem}.py"
    if (ROOT / own).exists():
        return [own.as_posix()]
    return [room.as_posix()] if (ROOT / room).is_dir() and room.as_posix() not in SLOW else []


def fill(test: str, file: str) -> str:
    """A place of TABLE for one file; "" where it has nothing for it."""
    number = re.search(r"(?:^|[/_])(\d\d)(?=[_.])", file)
    if "{exercises}" in test:
        return test.replace("{exercises}", f'"{number[1]}."') if number else ""
    if "{results}" in test:
        roots = registered(ROOT / file)
        words = " or ".join(f"[{root}." for root in roots)
        return test.partition("::")[0] + f' -k "{words}"' if roots else ""
    return test.replace("{file}", file)


def registered(path: Path) -> list[str]:
    """The names of the instructions that a file registers, whether one by one or from a table."""
    from ptxsim.instructions.registry import CONTROL, MACHINE, PURE

    text = path.read_text(encoding="utf-8")
    return [name for name in {**PURE, **MACHINE, **CONTROL} if f'"{name}"' in text]


def grouped(chosen: list[str]) -> list[list[str]]:
    """Runs of pytest: what has a `-k` by itself, all others in one."""
    alone = [re.findall(r'"[^"]*"|\S+', test) for test in chosen if " -k " in test]
    together = [test for test in chosen if " -k " not in test]
    return [[part.strip('"') for part in run] for run in alone] + [together] * bool(together)


def run_tests(tests: list[str]) -> int:
    notebooks = ["--nbval"] * any(test.endswith(".ipynb") for test in tests)
    status = run(["pytest", *PYTEST, *notebooks, *tests])
    return 0 if status == 5 else status  # 5: none of that name


def run(command: list[str]) -> int:
    print("==", *command, flush=True)
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT).returncode


def stale_reports() -> dict[str, str]:
    """Words that a change takes out of the simulator's messages, and a notebook whose outputs still have them."""
    now = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "ptxsim").rglob("*.py"))
    gone = {
        piece.strip()
        for line in git("diff", "HEAD", "-U0", "--", "ptxsim").splitlines()
        if line.startswith("-") and not line.startswith("---")
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line)
        for piece in re.split(r"\{[^}]*\}", text)
        if len(piece.strip()) > 15 and piece.strip() not in now
    }
    outputs = (
        {path: shown(path) for path in sorted((ROOT / "notebooks").rglob("[0-9]*.ipynb"))} if gone else {}
    )
    return {text: path.name for text in gone for path, all_of_it in outputs.items() if text in all_of_it}


def shown(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return html.unescape(json.dumps([cell.get("outputs", ()) for cell in cells], ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
