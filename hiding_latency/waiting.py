"""Which cells of a notebook tell what a learner shall predict first: what they show waits.

A cell with the tag `predict` asks for the names that it assigns, and `score(...)` below compares them. All cells from
there to the first that scores one of these names wait, and each later one that scores another. An exercise does not:
before there is an answer its verdict tells nothing.
"""

import ast
from collections.abc import Sequence
from typing import Any


def waiting(cells: Sequence[Any]) -> set[str]:
    """The ids of the code cells, of a notebook's own form, whose outputs wait for a prediction."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    trees = [_tree(cell) for cell in code]
    found: set[str] = set()
    for at, cell in enumerate(code):
        if "predict" not in _tags(cell):
            continue
        asked = _asked(trees[at])
        scores = [place for place in range(at, len(code)) if _scores(trees[place]) & asked]
        between = range(at + 1, scores[0]) if scores else ()
        found |= {code[place]["id"] for place in (*between, *scores)}
    return found - {cell["id"] for cell in code if "exercise" in _tags(cell)}


def _tags(cell: Any) -> Sequence[str]:
    tags: Sequence[str] = cell["metadata"].get("tags", ())
    return tags


def _tree(cell: Any) -> ast.AST:
    """What its text says; nothing where somebody is at work on it."""
    try:
        return ast.parse("".join(cell["source"]))
    except SyntaxError:
        return ast.Module([], [])


def _asked(cell: ast.AST) -> set[str]:
    """The names that a cell assigns."""
    return {
        node.id for node in ast.walk(cell) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _scores(cell: ast.AST) -> set[str]:
    """All names in a cell that calls `score`; none in another."""
    called = {
        node.func.id
        for node in ast.walk(cell)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    names = {node.id for node in ast.walk(cell) if isinstance(node, ast.Name)}
    return names if "score" in called else set()
