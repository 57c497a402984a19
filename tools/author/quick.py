"""The tests of what changed since the last commit: `make quick`. Style, import rules and types first.

A changed file asks for the tests that quick.toml names and for those that lie where it lies (tests/ptxsim/races for
ptxsim/races); a helper of the tests for those that import it. A file for which no test ran is named, and is no success.
It is no proof: `make test` runs all of them.
"""

import ast
import html
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path

from hiding_latency.packages import PACKAGES
from tools.author.drawn import notebooks_that_show

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = ("tests/tools/test_imports.py", "tests/tools/test_types.py")
EXACT = "tests/ptxsim/instructions/test_instructions.py"
RESULTS = "tests/ptxsim/instructions/test_instruction_results.py"
KERNELS = "tests/ptxsim/test_kernels.py"
RIGHT = "test_right_kernel_gives_the_reference_and_no_report"
MISTAKES = "tests/ptxsim/races/test_hazards_cases.py"
EXERCISES = "tests/lessons/test_lesson_kernels.py"
MOST_EXERCISES = 5
"""Of so many that changed at once every answer is tried; that takes some seconds each."""
IN_ANY_KERNEL = {"ld", "st", "bra", "ret"}
"""What the compiler makes of any C++."""
IN_CUDA = {"atom": r"\batomic"}
"""How CUDA C++ calls an instruction, where that has not its name, as __shfl_sync has."""
TABLE: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Pattern of a file -> tests; quick.toml says what stands in braces there."""

NO_TEST = {
    "*LICENSE*": "the text of a license",
    "tests/*/__init__.py": "makes a folder a package, or is imported by what asks for it",
    "tests/hiding_latency/compile_service/load.py": "a load of thirty clients, started by hand",
}
"""Files for which no test can be asked, by their names, and why."""

# quick.toml names what is quick of these
SLOW = (
    "tests/ptxsim",
    "tests/ptxsim/clock",
    "tests/ptxsim/instructions",
    "tests/ptxsim/program",
    "tests/ptxsim/races",
    "tests/tools",
    "tests/tools/classroom",
)
HALF_HOURS = tuple(f"tests/browser/test_{name}.py" for name in ("live_more", "live_lessons", "week"))
"""Tests for `make long` alone, which a helper that changed does not ask for."""
MINUTES = tuple(f"tests/ptxsim/races/test_{name}.py" for name in ("mutants", "hopper_mutants"))
"""For `make test`, likewise."""


def main() -> int:
    """0 when style, import rules, types and the tests are all right, and tests ran for all that changed."""
    changed = changes()
    style = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
    unlike = [step for step in style if not run(step)]
    stale = stale_reports()
    for text, places in stale.items():
        print(f"These words are nowhere in ptxsim any more: {text!r}. They stand in")
        print("\n".join(f"  {place}" for place in places))
    if stale:
        print("`make outputs` renews notebooks; pages are mended by hand.")
    if shown := notebooks_that_show(changed):
        print("Cells of these show what a changed file draws, and no test compares what they show:")
        print("\n".join(f"  {name}" for name in shown))
        print("`make outputs` renews them; look at what `git diff` says of them.")
    chosen = [*ALWAYS, *tests_of(changed)]
    print(f"== {len(changed)} changed files, {len(chosen)} places with tests")
    right = [run_tests(chosen)]
    if answers := exercises_of(changed):
        right.append(run_every_answer(answers))
    # what was said above the tests is out of sight
    for step in unlike:
        run(step)
    untested = [file for file in changed if not tested(file)]
    for file in untested:
        print(f"no test ran for {file}")
    all_right = all(right) and not unlike and not stale and not untested
    print("quick: all right; `make test` is the proof" if all_right else "quick: something is wrong")
    return int(not all_right)


def changes() -> list[str]:
    """Files that differ from the last commit, and new ones that git does not ignore."""
    asked = (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    return sorted({file for ask in asked for file in git(*ask).splitlines()})


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def tests_of(changed: Iterable[str]) -> list[str]:
    """What pytest is given for these files, without repetitions."""
    found: dict[str, None] = {}
    for file in filter(lambda file: (ROOT / file).exists(), changed):
        of_it = beside(file) + [place for test in named(file) for place in fill(test, file)]
        found |= dict.fromkeys(of_it or importers(file))
    return list(found)


def named(file: str) -> list[str]:
    """What quick.toml names for a file."""
    return [test for pattern, tests in TABLE.items() if fnmatch(file, pattern) for test in tests]


def tested(file: str) -> bool:
    """Whether tests are asked for a changed file, or cannot be; one that is gone is for `make test`."""
    if not (ROOT / file).exists() or any(fnmatch(file, pattern) for pattern in NO_TEST):
        return True
    return bool(tests_of([file]))


def beside(file: str) -> list[str]:
    """The tests that lie where a file of the packages, of tools or of tests lies: of its name, else of its room."""
    place = Path(file)
    if place.suffix != ".py" or place.parts[0] not in (*PACKAGES, "tools"):
        return [place.parent.as_posix()] if place.name == "conftest.py" and place.parts[0] == "tests" else []
    room = Path("tests", *place.parts[:-1])
    own = room / f"test_{place.stem}.py"
    if (ROOT / own).exists():
        return [own.as_posix()]
    return [room.as_posix()] if (ROOT / room).is_dir() and room.as_posix() not in SLOW else []


def importers(file: str) -> list[str]:
    """The test files that import a helper of the tests, or name this file, also through another helper; not through a
    test file, which others may import too."""
    if not file.startswith("tests/"):
        return []
    waiting, found = [file], {file}
    while waiting:
        wanted = Path(waiting.pop())
        if wanted.name.startswith("test_"):
            continue
        module = ".".join(wanted.with_suffix("").parts).removesuffix(".__init__")
        named = wanted.as_posix() if wanted.suffix == ".py" else wanted.stem
        new = {path for path, (modules, text) in helpers().items() if module in modules or named in text}
        waiting += new - found
        found |= new
    return sorted(
        path for path in found - {file, *HALF_HOURS, *MINUTES} if Path(path).name.startswith("test_")
    )


@cache
def helpers() -> dict[str, tuple[set[str], str]]:
    """Of each Python file of the tests: the modules that it imports, and its text."""
    found = {}
    for path in (ROOT / "tests").rglob("*.py"):
        text, modules = path.read_text(encoding="utf-8"), set()
        rooms = path.relative_to(ROOT).parts[:-1]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                modules |= {name.name for name in node.names}
            if isinstance(node, ast.ImportFrom):
                above = rooms[: len(rooms) + 1 - node.level] if node.level else ()
                module = ".".join((*above, *filter(None, [node.module])))
                modules |= {module, *(f"{module}.{name.name}" for name in node.names)}
        found[path.relative_to(ROOT).as_posix()] = modules, text
    return found


def fill(test: str, file: str) -> list[str]:
    """The places that a place of quick.toml means for one file."""
    number = re.search(r"(?:^|[/_])(\d\d)(?=[_.])", file)
    if "{exercises}" in test:
        return [test.replace("{exercises}", f'"{number[1]}."')] if number else []
    if test == "{results}":
        return cases_of(registered(ROOT / file))
    if test == "{exact}":
        return exact_cases_of(registered(ROOT / file))
    if test == "{kernels}":
        return kernels_with(registered(ROOT / file))
    if test == "{cases}":
        return kernels_of(file)
    if test == "{notebook}":
        path = Path("notebooks", Path(file).relative_to("course_lib/compiled")).with_suffix(".ipynb")
        return [path.as_posix()]
    return [test.replace("{file}", file)]


def cases_of(roots: list[str]) -> list[str]:
    """The cases of these instructions; of all where a file registers none."""
    from tests.kernels.instruction_cases import CASES

    if not roots:
        return [RESULTS]
    names = [case.name for case in CASES if case.name.split(".")[0] in roots]
    return [f"{RESULTS}::test_instruction_runs_and_gives_the_frozen_result[{name}]" for name in names]


def exact_cases_of(roots: list[str]) -> list[str]:
    """What the PTX manual says of these instructions; of all where a file registers none, as rounding.py."""
    from tests.ptxsim.instructions.exact import CASES

    of_them = [name for name in CASES if name.split(".")[0] in roots]
    return [f"{EXACT}::test_edge_values[{name}]" for name in of_them] if roots else [EXACT]


def kernels_with(roots: list[str]) -> list[str]:
    """The test kernels whose text names one of these instructions. Where none does: no kernel for pure ones, which
    have cases of their own, else all. All, too, for what is in any kernel, and for a file that registers none."""
    from ptxsim.instructions.registry import PURE
    from tests.kernels.cases import CASES

    if roots and IN_ANY_KERNEL.isdisjoint(roots):
        named = [case.name for case in CASES if any(has(case.source, root) for root in roots)]
        if named or PURE.keys() >= {*roots}:
            return [f"{KERNELS}::{RIGHT}[{name}]" for name in named]
    return [f"{KERNELS}::{RIGHT}[{case.name}]" for case in CASES]


def has(source: str, root: str) -> bool:
    """Whether CUDA C++ has this instruction: as PTX, at its start, or as a function such as __shfl_sync."""
    name = re.escape(root)
    start = r"(?:^|[^\w.:]|\\[nt])"
    words = (rf"{start}{name}\.[a-z]", rf"\b__{name}_", *filter(None, [IN_CUDA.get(root)]))
    return re.search("|".join(words), source, re.MULTILINE) is not None


def kernels_of(file: str) -> list[str]:
    """The test kernels that a file of tests/kernels defines: of right ones also whether their frozen results are of
    today's text, of those with a mistake whether each kind still has its kernels."""
    from tests.kernels import cases

    if file == "tests/kernels/cases.py":
        return []
    module = import_module(file.removesuffix(".py").replace("/", "."))
    names = [case.name for case in getattr(module, "CASES", ()) if case in cases.CASES]
    right = [
        f"{KERNELS}::{test}[{name}]" for name in names for test in (RIGHT, "test_frozen_result_is_current")
    ]
    wrong = [
        f"{MISTAKES}::{test}[{case.kind}:{case.name}]"
        for case in getattr(module, "WRONG", ())
        for test in ("test_mistake_is_reported_where_it_is", "test_message_names_the_thread_and_the_array")
    ]
    return [*right, *wrong, *[f"{MISTAKES}::test_every_kind_has_two_kernels"] * bool(wrong)]


def exercises_of(changed: Iterable[str]) -> list[str]:
    """The exercises that changed lines are about, as "02.15": the one that such a line names, or the nearest above
    it that names just one; of a test, those that call what the line defines. None where these are so many that a lesson
    changed."""
    found = set()
    for file in changed:
        number = re.search(r"(?:^|[/_])(\d\d)(?=[_.])", file)
        if number and (ROOT / file).exists() and any("{exercises}" in test for test in named(file)):
            text = (ROOT / file).read_text(encoding="utf-8")
            lines, tests = text.splitlines(), fnmatch(file, "notebooks/answers/*.py")
            for line in changed_lines(file):
                if tests:
                    found |= callers(text, line)
                    continue
                near = ({*re.findall(rf"\b{number[1]}\.\d+\b", each)} for each in lines[line::-1])
                found |= next((names for names in near if len(names) == 1), set())
    if not found:  # the course need not be sound where no lesson changed
        return []
    from course_lib.exercises.answers import exercises

    found &= exercises().keys()
    return sorted(found) if len(found) <= MOST_EXERCISES else []


def callers(text: str, line: int) -> set[str]:
    """Of a file of answers: the exercises whose test this line (from 0) is a part of, or calls what it is a part of,
    near or far."""
    parts = ast.parse(text).body
    uses = {name: called(part) for part in parts for name in defined(part)}
    here = {name for part in parts if on(part, line) for name in defined(part)}
    found = set()
    for key, test in table_of(parts):
        reached, waiting = set(), called(test)
        while waiting:
            reached |= waiting
            waiting = {name for each in waiting for name in uses.get(each, ())} - reached
        if on(test, line) or not here.isdisjoint(reached):
            found.add(key)
    return found


def table_of(parts: list[ast.stmt]) -> list[tuple[str, ast.expr]]:
    """`EXERCISES = {"02.11": test, ...}` of a file."""
    tables = [part.value for part in parts if isinstance(part, ast.Assign) and "EXERCISES" in defined(part)]
    return [
        (key.value, test)
        for table in tables
        if isinstance(table, ast.Dict)
        for key, test in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def defined(part: ast.stmt) -> set[str]:
    """The names to which a statement gives something."""
    if isinstance(part, ast.FunctionDef | ast.ClassDef):
        return {part.name}
    return {name for target in getattr(part, "targets", ()) for name in called(target)}


def called(part: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}


def on(part: ast.stmt | ast.expr, line: int) -> bool:
    """Whether a line, from 0, is one of its own."""
    return part.lineno <= line + 1 <= (part.end_lineno or part.lineno)


def changed_lines(file: str) -> list[int]:
    """Which lines of a file differ from the last commit, from 0."""
    hunks = re.findall(
        r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", git("diff", "-U0", "HEAD", "--", file), re.MULTILINE
    )
    return [int(first) - 1 + more for first, count in hunks for more in range(int(count or 1))]


def registered(path: Path) -> list[str]:
    """The names of the instructions that a file registers, one by one or from a table of forms.py."""
    from ptxsim.instructions import forms
    from ptxsim.instructions.registry import CONTROL, MACHINE, PURE

    text, module = path.read_text(encoding="utf-8"), f"ptxsim.instructions.{path.stem}"
    from_table = {name for name, build in PURE.items() if build.__module__ == forms.__name__}
    builders = {**PURE, **MACHINE, **CONTROL}
    return [
        name
        for name, build in builders.items()
        if build.__module__ == module or (name in from_table and "forms" in text and f'"{name}"' in text)
    ]


def run_tests(chosen: list[str]) -> bool:
    """Whether all of them passed. One run, since each collects and starts anew; two processes where two notebooks have
    seconds of work of their own."""
    places, expression = selected(chosen)
    notebooks = sum(test.endswith(".ipynb") for test in places)
    how = [
        "-q",
        "-rs",
        "--no-header",
        f"--numprocesses={2 * (notebooks > 1)}",
        *["--nbval"] * bool(notebooks),
    ]
    count = Counter(test.partition("::")[0] for test in places)
    of_file = "\n".join(f"   {file}{f', {many} tests' * (many > 1)}" for file, many in count.items())
    only = ["-k", expression] * bool(expression)
    return run(["pytest", *how, *only, *places], " ".join(["pytest", *how, *only]) + f"\n{of_file}")


def run_every_answer(exercises: list[str]) -> bool:
    """Whether the right answers of these pass and the wrong ones get their hints: all, where the tests of their lesson
    take a sample."""
    names = " or ".join(f"[{name}] or [{name}-" for name in exercises)
    return run(["pytest", "-q", "--no-header", EXERCISES, "-k", names], COURSE_EVERY_CASE="1")


def selected(chosen: list[str]) -> tuple[list[str], str]:
    """Files, tests and folders for pytest, none of them a part of another one, and for its -k an expression that is
    about the files with a -k alone."""
    words: dict[str, list[str]] = {}
    for test in chosen:
        file, _, word = test.partition(" -k ")
        if word:
            words.setdefault(file, []).append(word.strip('"'))
    places = [test for test in chosen if " -k " not in test and not within(test, chosen)]
    for place in places:
        file, _, name = place.partition("::")
        if file in words and name:
            words[file].append(name)
    only = {file: of_it for file, of_it in words.items() if file not in places}
    expression = " and ".join(
        f"(not {Path(file).name} or {' or '.join(of_it)})" for file, of_it in only.items()
    )
    return [*(place for place in places if place.partition("::")[0] not in words), *words], expression


def within(test: str, chosen: Iterable[str]) -> bool:
    """Whether its file or a folder above is chosen too: pytest would run it twice."""
    file, of_it, _ = test.partition("::")
    above = {parent.as_posix() for parent in Path(file).parents} | ({file} if of_it else set())
    return not above.isdisjoint(chosen)


def run(command: list[str], shown: str = "", **settings: str) -> bool:
    """Whether it ended with 0, with these settings of the environment; `shown` is printed in place of a long command.
    What a signal ended has a negative status, which is no success and no error of its own: it is named, since nothing
    else may have been printed."""
    print("==", shown or " ".join(command), flush=True)
    environment = os.environ | settings
    status = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=environment).returncode
    if status < 0:
        print(f"{command[0]} was ended by {signal.Signals(-status).name}: what it had not run was not tested")
    return status == 0


def stale_reports() -> dict[str, list[str]]:
    """Words that a change takes out of the simulator's messages, and the notebooks and pages that still show them."""
    now = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "ptxsim").rglob("*.py"))
    gone = {
        piece.strip()
        for line in git("diff", "HEAD", "-U0", "--", "ptxsim").splitlines()
        if line.startswith("-") and not line.startswith("---")
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line)
        for piece in re.split(r"\{[^}]*\}", text)
        if len(piece.strip()) > 15 and piece.strip() not in now
    }
    if not gone:
        return {}
    pages = {
        name: words((ROOT / name).read_text(encoding="utf-8")) for name in git("ls-files", "*.md").split()
    }
    outputs = {name: words(shown(ROOT / name)) for name in git("ls-files", "notebooks/*.ipynb").split()}
    places = {
        text: [name for name, shows in (outputs | pages).items() if words(text) in shows] for text in gone
    }
    return {text: names for text, names in places.items() if names}


def words(text: str) -> str:
    """The text with one space wherever it has white space, as a page breaks its lines anywhere."""
    return " ".join(text.split())


def shown(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return html.unescape(json.dumps([cell.get("outputs", ()) for cell in cells], ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
