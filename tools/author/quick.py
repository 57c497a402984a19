"""The tests of what changed since the last commit: `make quick`. Style, import rules and types first.

A changed file asks for the tests that quick.toml names and for those that lie where it lies (tests/ptxsim/races for
ptxsim/races); a helper of the tests for those that import it. A file for which no test ran is named, and is no success.
It is no proof: `make test` runs all of them.
"""

import ast
import html
import json
import re
import signal
import subprocess
import sys
import tomllib
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


def main() -> int:
    """0 when style, import rules, types and the tests are all right, and tests ran for all that changed."""
    changed = changes()
    steps = [["ruff", "check", "."], ["ruff", "format", "--check", "."]]
    right = [run(step) for step in steps]
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
    right.append(run_tests(chosen))
    untested = [file for file in changed if not tested(file)]
    for file in untested:
        print(f"no test ran for {file}")
    all_right = all(right) and not stale and not untested
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
        of_it = beside(file)
        for pattern, tests in TABLE.items():
            if fnmatch(file, pattern):
                of_it += [place for test in tests for place in fill(test, file)]
        found |= dict.fromkeys(of_it or importers(file))
    return list(found)


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
    """The test files that import a helper of the tests, or name this file, also through another helper."""
    if not file.startswith("tests/"):
        return []
    waiting, found = [file], {file}
    while waiting:
        wanted = Path(waiting.pop())
        module = ".".join(wanted.with_suffix("").parts).removesuffix(".__init__")
        named = wanted.as_posix() if wanted.suffix == ".py" else wanted.stem
        new = {path for path, (modules, text) in helpers().items() if module in modules or named in text}
        waiting += new - found
        found |= new
    return sorted(path for path in found - {file, *HALF_HOURS} if Path(path).name.startswith("test_"))


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
    """The test kernels whose text names one of these instructions; all of them where none does, as of `ld`, and where
    a file registers none."""
    from tests.kernels.cases import CASES

    named = [case.name for case in CASES if any(root in case.source for root in roots)]
    return [f"{KERNELS}::{RIGHT}[{name}]" for name in named or [case.name for case in CASES]]


def kernels_of(file: str) -> list[str]:
    """The test kernels that a file of tests/kernels defines, and whether their frozen results are of today's text."""
    from tests.kernels import cases

    module = import_module(file.removesuffix(".py").replace("/", "."))
    names = [case.name for case in getattr(module, "CASES", ()) if case in cases.CASES]
    of_file = file != "tests/kernels/cases.py"
    return [
        f"{KERNELS}::{test}[{name}]"
        for name in names * of_file
        for test in (RIGHT, "test_frozen_result_is_current")
    ]


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
    return run(["pytest", *how, *["-k", expression] * bool(expression), *places])


def selected(chosen: list[str]) -> tuple[list[str], str]:
    """Files, tests and folders for pytest, and for its -k an expression that is about the files with a -k alone."""
    words: dict[str, list[str]] = {}
    for test in chosen:
        file, _, word = test.partition(" -k ")
        if word:
            words.setdefault(file, []).append(word.strip('"'))
    places = [test for test in chosen if " -k " not in test]
    for place in places:
        file, _, name = place.partition("::")
        if file in words and name:
            words[file].append(name)
    only = {file: of_it for file, of_it in words.items() if file not in places}
    expression = " and ".join(
        f"(not {Path(file).name} or {' or '.join(of_it)})" for file, of_it in only.items()
    )
    return [*(place for place in places if place.partition("::")[0] not in words), *words], expression


def run(command: list[str]) -> bool:
    """Whether it ended with 0. What a signal ended has a negative status, which is no success and no error of its own:
    it is named, since nothing else may have been printed."""
    print("==", *command, flush=True)
    status = subprocess.run([sys.executable, "-m", *command], cwd=ROOT).returncode
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
