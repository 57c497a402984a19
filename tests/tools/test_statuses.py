"""How processes ended: one that a signal ended has a negative status, which is no success."""

import ast
from collections.abc import Iterator

import pytest

from hiding_latency.packages import PACKAGES
from tests.rules import ROOT

PLACES = (*PACKAGES, "tools", "tests", "notebooks")
AS_NUMBERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def statuses_as_numbers(text: str) -> list[int]:
    """The lines that order, add or take the largest of statuses, or of what a function of the text returns of them."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return_it = {
        function.name
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Attribute)
        if node.value.attr == "returncode"
    }

    def is_status(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in return_it
        return isinstance(node, ast.Attribute) and node.attr == "returncode"

    def counted(node: ast.AST) -> Iterator[ast.AST]:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("max", "min", "sum")
        ):
            yield from (
                part
                for argument in node.args
                for part in (getattr(argument, "elt", argument), getattr(argument, "value", argument))
            )
        if isinstance(node, ast.Compare) and any(isinstance(op, AS_NUMBERS) for op in node.ops):
            yield from (node.left, *node.comparators)
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            yield from (getattr(node, side) for side in ("left", "right", "value") if hasattr(node, side))

    return [node.lineno for node in ast.walk(tree) if any(map(is_status, counted(node)))]


def test_no_status_is_taken_for_a_number():
    files = [path for place in PLACES for path in (ROOT / place).rglob("*.py")]
    found = {
        path.relative_to(ROOT).as_posix(): statuses_as_numbers(path.read_text("utf-8")) for path in files
    }
    assert not {file: lines for file, lines in found.items() if lines}


@pytest.mark.parametrize(
    "text",
    [
        "max(done.returncode, 0)",
        "done.returncode > 0",
        "failed += done.returncode",
        "def run():\n return ask().returncode\nstatus = max(run() for _ in steps)",
    ],
)
def test_a_status_that_is_taken_for_a_number_is_found(text):
    assert statuses_as_numbers(text) and not statuses_as_numbers("if done.returncode: again()")
