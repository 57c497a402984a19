"""What learners hand in: the solutions of a lesson, wrong answers, and programs that mean harm."""

import ast
import csv
import re
from pathlib import Path

import nbformat

from tests.lessons import BANK, LESSONS, replaced
from tools.classroom.assignment import checked, tags

NAME = "assignment_00_start_here"
WRONG_ANSWERS = {name: wrong for room in LESSONS + BANK for name, wrong in room.WRONG_ANSWERS.items()}

ENDLESS = """
import time
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""
CROWD = """
import os
for _ in range(40):
    if os.fork() == 0:
        break
while True:
    pass
"""
PATCHED = """
import sys
import course_lib, course_lib.exercises.verdicts as verdicts
from tools.classroom import wire

class Passed:
    ok = True
    def __repr__(self):
        return "00.1 passed: right: the check finds no mistake in it."
    def __eq__(self, other):
        return True
    def __mul__(self, other):
        return 1
    __rmul__ = __mul__

course_lib.check_exercise = verdicts.check_exercise = lambda name, answer: Passed()
verdicts.judged = lambda *a: (Passed(), ())
wire.pack = wire.unpack = lambda value, call=None: {"ok": True, "said": "00.1 passed", "pictures": []}
cp.RawKernel = lambda *a, **k: Passed()
"""


def answers(lesson: Path, wrong: bool = False) -> dict[str, str]:
    """Exercise -> the code of its cell with the solution in the place of what has gaps, or with a known wrong one."""
    notebook = nbformat.read(lesson, as_version=4)
    found = {}
    for number, cell in enumerate(notebook.cells):
        if "exercise" in tags(cell):
            code, name, answer = checked(cell.source)
            solution = next(below.source for below in notebook.cells[number:] if "solution" in tags(below))
            for old, new in WRONG_ANSWERS[name][0][1] if wrong else ():
                solution = replaced(solution, old, new) if isinstance(new, str) else solution
            found[name] = solved(code, answer, solution)
    return found


def solved(code: str, answer: str, solution: str) -> str:
    """CUDA goes into the string, or below under its name; Python stands below, so that it counts. The parts of its
    `my_answer` go to the names that the cell has for them."""
    if cuda := re.search(r"```cuda\n(.*?)```", solution, re.DOTALL):
        text = f'r"""\n{cuda[1]}"""'
        if 'r"""' in code:
            code = re.sub(r'r"""\n.*?"""', lambda _: text, code, count=1, flags=re.DOTALL)
        else:
            kernel = re.search(r"RawKernel\((\w+)", answer) or re.match(r"(\w+)", code)
            code += f"\n{kernel[1]} = {text}"
    if launch := re.search(r"`(Launch\(.*?\))`", solution):
        code = re.sub(r"(?m)^(\w+_launch) = .*$", rf"\1 = {launch[1]}", code)
    python = re.findall(r"```python\n(.*?)```", solution, re.DOTALL)
    for name, statement in [found for text in python for found in _assignments(text)]:
        gap = rf'(?m)^{name} = (?:"____".*$|"""\n\s*____\n""")'
        code = re.sub(gap, lambda _, text=statement: text, code)  # what follows uses it
    gaps = re.findall(r"(?m)^(my_(?!answer)\w+) = None", code)
    parts = [f"{', '.join(gaps)} = my_answer"] if gaps and "my_answer =" in solution else []
    return "\n".join([code, *python, *parts])


def _assignments(python: str) -> list[tuple[str, str]]:
    """(name, statement) of those that give one name a value."""
    given = [node for node in ast.parse(python).body if isinstance(node, ast.Assign)]
    return [(ast.unparse(node.targets[0]), ast.get_source_segment(python, node)) for node in given]


def answered(notebook: nbformat.NotebookNode, changed: dict[str, str]) -> nbformat.NotebookNode:
    """An assignment with the code of some exercises replaced."""
    for cell in notebook.cells:
        mark = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if mark.startswith("answer-") and (name := mark[7:].replace("-", ".")) in changed:
            cell.source = changed[name]
    return notebook


def hand_in(course: Path, student: str, changed: dict[str, str], assignment: str = NAME) -> None:
    """A learner's copy of the release, with the code of some exercises replaced."""
    released = nbformat.read(course / "release" / assignment / f"{assignment}.ipynb", as_version=4)
    notebook = answered(released, changed)
    place = course / "submitted" / student / assignment
    place.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place / f"{assignment}.ipynb")


def marks(course: Path) -> dict[str, float | str]:
    """Student -> score, or why there is none; of nbgrader's export."""
    with open(course / "grades.csv", newline="") as file:
        return {
            row["student_id"]: float(row["score"]) if row["score"] else row["remark"]
            for row in csv.DictReader(file)
        }
