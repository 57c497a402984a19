"""No text above a prediction holds its answer: the lesson asks first, then measures.

The answers are those that the `score(...)` cells print ("question: it is 1.34"). What is looked for above the cell
with the prediction is a number that says the same: 1.34, 1.3 times, 34 % (more), 134 %.
"""

import ast
import re

import pytest

from course_lib.lessons import sources
from tests.lessons.reading import ANSWER, DEEPER, LESSONS, cells_of, tags_of, text_of
from tools.author.numbers import text_shown

NOTEBOOKS = sources.notebooks(sources.NOTEBOOKS)
NUMBER = re.compile(r"(?<![\w.,-])(\d+(?:\.\d+)?)(?:\s*(%|percent\b)|\s*(x\b|×|times\b))?(?![\w]|[.,]\d)")
SMALL, TILE = 12, 16
"""Whole numbers up to SMALL, and multiples of TILE, stand everywhere: they say nothing."""
BY_CHANCE = {}
"""(lesson, question): what the number above it says, which is something else."""


def shown_above(cells: list[dict], at: int) -> str:
    """All that a reader has seen before a cell: text, code, and what it printed, pictures' words included."""
    return "\n".join(f"{text_of(cell)}\n{text_shown(cell)}" for cell in cells[:at])


def spoilt(cells: list[dict]) -> list[str]:
    """Predictions that do not say from which cell they can be reasoned, or whose answer stands above."""
    found, ids = [], [cell["id"] for cell in cells]
    for at, cell in enumerate(cells):
        if "predict" not in tags_of(cell):
            continue
        about = cell["metadata"].get("prediction", {})
        if about.get("from") not in ids[:at]:
            found.append(f"{cell['id']}: reasoned from {about.get('from')!r}, which is no cell above")
        if not about.get("spoilers"):
            found.append(f"{cell['id']}: names no words that would give the answer away")
        above = shown_above(cells, at)
        found += [
            f"{cell['id']}: {word!r} stands above"
            for word in about.get("spoilers", ())
            if re.search(rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\d)", above)
        ]
    return found


@pytest.mark.parametrize("name", LESSONS + DEEPER)
def test_what_would_spoil_a_prediction_stands_nowhere_above(name):
    assert spoilt(cells_of(name)) == []


def test_a_spoilt_prediction_is_found():
    def cells(above, **about):
        asked = {"cell_type": "code", "id": "asked", "source": "my_gain = None",
                 "metadata": {"tags": ["predict"], "prediction": about}}  # fmt: skip
        picture = {"metadata": {"image/png": {"alt": above}}, "data": {"text/plain": ""}}
        shows = {"cell_type": "code", "id": "shows", "source": "x", "metadata": {}, "outputs": [picture]}
        return [shows, asked]

    assert spoilt(cells("a gain of 11.29", **{"from": "shows", "spoilers": ["1.29"]})) == []
    assert spoilt(cells("a gain of 1.29", **{"from": "shows", "spoilers": ["1.29"]})) == [
        "asked: '1.29' stands above"
    ]
    assert len(spoilt(cells("", **{"from": "later"}))) == 2


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def predicted_in(cells: list[dict]) -> dict[str, int]:
    """Name of a prediction -> the cell that asks for it."""
    return {
        name: at
        for at, cell in enumerate(cells)
        if "predict" in tags_of(cell)
        for node in ast.walk(ast.parse(text_of(cell)))
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in names_in(target)
    }


def answers(cells: list[dict]) -> list[tuple[int, str, str]]:
    """(cell of the prediction, question, answer) of everything that is scored. Where the rows of a `score` are not
    written one by one, all of them belong to the first prediction that it uses."""
    asked, found = predicted_in(cells), []
    for cell in cells:
        if "score(" not in text_of(cell) or cell["cell_type"] != "code":
            continue
        calls = [
            node
            for node in ast.walk(ast.parse(text_of(cell)))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "score"
        ]
        rows = [row for call in calls for row in getattr(call.args[0], "elts", ())]
        said = ANSWER.findall(text_shown(cell))
        of_cell = min((asked[name] for call in calls for name in names_in(call) & set(asked)), default=None)
        for position, (question, answer) in enumerate(said):
            row = rows[position] if len(rows) == len(said) else None
            own = [asked[name] for name in names_in(row) & set(asked)] if row else []
            at = min(own, default=of_cell)
            assert at is not None, f"no cell asks for the prediction of {question!r}"
            found.append((at, question, answer))
    return found


def says(text: str, answer: str, question: str = "") -> list[str]:
    """The numbers of a text that give an answer away, but for those in the question."""
    try:
        value = float(answer)
    except ValueError:
        return []
    if value == int(value):
        given = int(value)
        telling = given > SMALL and given % TILE and str(given) not in question
        return [match[0] for match in NUMBER.finditer(text) if telling and match[1] == str(given)]
    return [match[0] for match in NUMBER.finditer(text) if _same(value, *match.groups())]


def _same(value: float, number: str, percent: str, times: str) -> bool:
    decimals = len(number.partition(".")[2])
    if percent:
        same = 100 * value, 100 * abs(value - 1)
        return any(abs(float(number) - each) <= 0.5 * 10**-decimals for each in same)
    enough = decimals >= 2 or bool(times and decimals)
    return enough and abs(float(number) - value) <= 0.5 * 10**-decimals


def above(cells: list[dict], at: int) -> str:
    """The Markdown above a cell."""
    return "\n".join(text_of(cell) for cell in cells[:at] if cell["cell_type"] == "markdown")


def spoiled(cells: list[dict]) -> dict[str, str]:
    """Question -> what stands above its prediction and gives the answer."""
    return {
        question: f"it is {answer}, and above it stands {', '.join(found)}"
        for at, question, answer in answers(cells)
        if (found := says(above(cells, at), answer, question))
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_above_a_prediction_gives_its_answer(path):
    found = spoiled(cells_of(path))
    by_chance = {question for lesson, question in BY_CHANCE if lesson == path.stem}
    assert {question: text for question, text in found.items() if question not in by_chance} == {}
    assert by_chance <= set(found), "nothing stands there any more: take it off the list"


def test_every_lesson_asks_before_it_measures():
    counts = {path.stem: len(answers(cells_of(path))) for path in NOTEBOOKS}
    assert all(count >= 2 for count in counts.values()), counts


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("It ends at 90 % of cuBLAS.", "0.901", ["90 %"]),
        ("The swizzle gains 34 %.", "1.34", ["34 %"]),
        ("a factor of 1.34, or 1.3 times", "1.34", ["1.34", "1.3 times"]),
        ("the second loses 7 percent", "0.93", ["7 percent"]),
        ("version 1.3 of 2026; 64 x 64; 0.1", "1.34", []),
        ("134 MB more", "134", ["134"]),
        ("tiles of 128 x 256, 8 warps", "256", []),
        ("through registers", "through registers", []),
    ],
)
def test_what_gives_an_answer_away(text, answer, found):
    assert says(text, answer) == found


def test_a_heading_that_gives_the_answer_is_found():
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "## The copy comes first: 1.63 times"},
        {"cell_type": "code", "metadata": {"tags": ["predict"]}, "source": "my_gain = None", "outputs": []},
        {"cell_type": "markdown", "metadata": {}, "source": "It was 1.63."},
        {"cell_type": "code", "metadata": {}, "source": "score([('gain', my_gain, results.gain('a', 'b'))])",
         "outputs": [{"output_type": "stream", "text": "gain: it is 1.63\n"}]},
    ]  # fmt: skip
    assert spoiled(cells) == {"gain": "it is 1.63, and above it stands 1.63 times"}
    assert spoiled(cells[1:]) == {}
