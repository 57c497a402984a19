"""An nbgrader assignment, cut out of a lesson: its exercises with their hints, without their solutions.

Everything is read from the lesson by rule. An exercise begins at its heading `## Exercise NN.n`, and its cell has the
tag `exercise` and calls `check_exercise("NN.n", answer)`. In the assignment this call stands in a locked cell of its
own below, which gives the point. What the exercises use of the lesson (imports, an earlier kernel) is found by name
and stands in one locked cell at the top, so that nothing else of the lesson has to run.
"""

import ast
import builtins
import copy
import re
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

HEADING = r"(?m)^#+ .*\bExercise {}\b"
HINT = "<details><summary>Hint"
EVENING = "☾"
POINTS = 1
"""Of each exercise."""
TEXT = """# {title}: exercises

{count}, one point each. Write your answer in the cell under each text, run it, then run the cell below it: it says
whether the answer is right, and what is wrong. You can try as often as you like.
Where a text speaks of other cells or of pictures, it means those of the lesson.
Hand in this file, under the name that it has.
"""


@dataclass(frozen=True)
class Exercise:
    """An exercise in a lesson: its name, and the cells from the heading to the exercise, and its hints."""

    name: str
    before: list[NotebookNode]
    cell: NotebookNode
    hints: list[NotebookNode]


def assignment(lesson: NotebookNode, title: str) -> NotebookNode:
    """The assignment of a lesson. Raises ValueError, with the cell, where the lesson does not follow the rules."""
    found = exercises(lesson)
    count = f"{len(found)} exercises" if len(found) != 1 else "One exercise"
    cells = [nbformat.v4.new_markdown_cell(TEXT.format(title=title, count=count), id="title")]
    cells.append(_locked(needed(lesson, found), "needed"))
    for exercise in found:
        cells += _cells(exercise)
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata = {
        name: lesson.metadata[name] for name in ("kernelspec", "language_info") if name in lesson.metadata
    }
    return made


def without_solutions(lesson: NotebookNode) -> NotebookNode:
    """A copy of a lesson without the cells tagged `solution`, and without outputs."""
    made = copy.deepcopy(lesson)
    made.cells = [cell for cell in made.cells if "solution" not in tags(cell)]
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return made


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def exercises(lesson: NotebookNode) -> list[Exercise]:
    """The exercises of a lesson, in order."""
    places = [number for number, cell in enumerate(lesson.cells) if "exercise" in tags(cell)]
    return [_exercise(lesson.cells, place) for place in places]


def _exercise(cells: list[NotebookNode], place: int) -> Exercise:
    name = checked(cells[place].source)[1]
    heading = re.compile(HEADING.format(re.escape(name)))
    above = [number for number in range(place) if heading.search(cells[number].source)]
    if not above:
        raise ValueError(f"cell {cells[place].id}: no heading '## Exercise {name}' stands above it")
    first = copy.deepcopy(cells[above[-1]])
    first.source = first.source[heading.search(first.source).start() :]
    hints = []
    for cell in cells[place + 1 :]:
        if "exercise" in tags(cell) or (cell.cell_type == "markdown" and cell.source.startswith("#")):
            break
        if cell.cell_type == "markdown" and cell.source.startswith(HINT):
            hints.append(cell)
    return Exercise(name, [first, *cells[above[-1] + 1 : place]], cells[place], hints)


def checked(source: str) -> tuple[str, str, str]:
    """Of an exercise's cell: its code without the check, the exercise's name, the answer that is checked.

    Raises ValueError where there is not exactly one `check_exercise("NN.n", answer)`.
    """
    body = ast.parse(source).body
    calls = [
        (statement, node)
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "check_exercise"
    ]
    if len(calls) != 1 or len(calls[0][1].args) != 2 or not isinstance(calls[0][1].args[0], ast.Constant):
        raise ValueError(
            f'an exercise has one check_exercise("NN.n", answer), not {len(calls)}: {source[:60]!r}'
        )
    statement, call = calls[0]
    kept = "\n".join(source.splitlines()[: statement.lineno - 1]).rstrip()
    return kept, call.args[0].value, ast.get_source_segment(source, call.args[1])


def _cells(exercise: Exercise) -> list[NotebookNode]:
    source, name, answer = checked(exercise.cell.source)
    mark = name.replace(".", "-")
    cells = []
    for number, cell in enumerate(exercise.before):
        if cell.cell_type == "markdown":
            cells.append(nbformat.v4.new_markdown_cell(alone(cell.source), id=f"text-{mark}-{number}"))
        else:
            cells.append(_locked(cell.source, f"given-{mark}-{number}"))
    cells.append(_nbgrader(source, f"answer-{mark}", solution=True))
    check = f'from course_lib import check_exercise\n\nverdict = check_exercise("{name}", {answer})\nprint(verdict)\n'
    check += f"{POINTS} * verdict.ok     # points"
    cells.append(_nbgrader(check, f"check-{mark}", grade=True, locked=True, points=POINTS))
    for number, hint in enumerate(exercise.hints):
        cells.append(nbformat.v4.new_markdown_cell(alone(hint.source), id=f"hint-{mark}-{number}"))
    return cells


def alone(text: str) -> str:
    """A text of a lesson where the lesson is not: links inside the course lead nowhere, and their text stays; the
    evening's mark says nothing."""
    text = re.sub(rf"(?m)^{EVENING}\n+", "", text)
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)]*\)", r"\1", text)


def _locked(source: str, name: str) -> NotebookNode:
    return _nbgrader(source, name, locked=True)


def _nbgrader(source: str, name: str, **kind: object) -> NotebookNode:
    """A code cell as nbgrader knows it."""
    what = {"grade": False, "solution": False, "locked": False, "task": False} | kind
    cell = nbformat.v4.new_code_cell(source, id=name)
    cell.metadata.nbgrader = {"schema_version": 3, "grade_id": name} | what
    return cell


# --- what the exercises use of the lesson ------------------------------------------------------------------


def needed(lesson: NotebookNode, found: list[Exercise]) -> str:
    """The statements of a lesson that its exercises use, in the lesson's order; imports only of what is used.

    Raises ValueError when a name is not bound above, or when two exercises use two values of one name.
    """
    order = {cell.id: number for number, cell in enumerate(lesson.cells)}
    wanted: dict[tuple[int, int], set[str]] = {}
    for exercise in found:
        cells = [cell for cell in [*exercise.before, exercise.cell] if cell.cell_type == "code"]
        for cell in cells:
            first = order[cells[0].id]
            inside = [
                statement for one in cells[: cells.index(cell)] for statement in ast.parse(one.source).body
            ]
            _gather(lesson, _uses(ast.parse(cell.source).body) - _binds(inside), (first, 0), wanted)
    texts, bound = [], {}
    for (number, place), names in sorted(wanted.items()):
        statement = ast.parse(lesson.cells[number].source).body[place]
        again = {name for name in names if name in bound and bound[name] == _imported(statement, name)}
        for name in names - again:
            value = _imported(statement, name) or (number, place)
            if bound.setdefault(name, value) != value:
                raise ValueError(f"exercises of this lesson use two values of {name!r}: rename one of them")
        if names - again:
            texts.append(_text(lesson.cells[number].source, statement, names - again))
    return "\n".join(texts)


def _imported(statement: ast.stmt, name: str) -> tuple[str, str] | None:
    """(module, name there) of what an import binds to this name: the same wherever it stands."""
    if not isinstance(statement, ast.ImportFrom):
        return None
    return next(((statement.module, a.name) for a in statement.names if (a.asname or a.name) == name), None)


def _gather(
    lesson: NotebookNode, names: set[str], above: tuple[int, int], wanted: dict[tuple[int, int], set[str]]
) -> None:
    """Note the last statement above a place (cell, statement) that binds each name, and what that one uses."""
    for name in sorted(names):
        for number in reversed(range(above[0] + 1)):
            cell = lesson.cells[number]
            body = ast.parse(cell.source).body if cell.cell_type == "code" else []
            body = body[: above[1]] if number == above[0] else body
            places = [place for place, statement in enumerate(body) if name in _binds([statement])]
            if places and "exercise" in tags(cell):
                break  # the learner's own answer, above
            if places:
                key = (number, places[-1])
                if name not in wanted.setdefault(key, set()):
                    wanted[key].add(name)
                    _gather(lesson, _uses([body[places[-1]]]), key, wanted)
                break
        else:
            raise ValueError(f"an exercise uses {name!r}, and nothing above it binds that name")


def _binds(body: list[ast.stmt]) -> set[str]:
    """The names that statements of a cell bind for the cells below."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            found |= {node.id for node in ast.walk(statement) if _is(node, ast.Store)}
    return found


def _uses(body: list[ast.stmt]) -> set[str]:
    """The names that statements take from above: what is read anywhere in them, and bound nowhere."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    stored = {node.id for node in nodes if _is(node, ast.Store)}
    stored |= {node.arg for node in nodes if isinstance(node, ast.arg)} | _binds(body)
    loaded = {node.id for node in nodes if _is(node, ast.Load)}
    return loaded - stored - set(dir(builtins))


def _is(node: ast.AST, context: type) -> bool:
    """Whether a node is a name that is bound (ast.Store) or read (ast.Load)."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def _text(source: str, statement: ast.stmt, names: set[str]) -> str:
    """A statement as the lesson writes it; of an import, the names that are used."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return ast.get_source_segment(source, statement)
    used = [alias for alias in statement.names if (alias.asname or alias.name).partition(".")[0] in names]
    kept = copy.copy(statement)
    kept.names = used
    return ast.unparse(kept)
