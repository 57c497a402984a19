"""What the check of one exercise can reach among the modules of notebooks/answers: functions, classes and tables that
it names, those that these name, and so on. Only names are read; nothing runs."""

import ast
from functools import cache
from pathlib import Path

from course_lib.notebooks import answers

FOLDER = Path(answers.__file__).parent


@cache
def definitions(module: str) -> dict[str, ast.AST]:
    """Name -> the statement that defines it, at the top of a module."""
    found: dict[str, ast.AST] = {}
    for node in ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
            found |= {name.id: node for name in names}
    return found


@cache
def imports(module: str) -> dict[str, tuple[str, str]]:
    """Name -> (module of the answers, its name there)."""
    body = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8")).body
    near = [node for node in body if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module]
    return {name.asname or name.name: (node.module, name.name) for node in near for name in node.names}


def reached(module: str, exercise: str) -> list[ast.AST]:
    """All statements that the check of an exercise, in EXERCISES of its module, reaches."""
    table = definitions(module)["EXERCISES"].value
    (check,) = (value for key, value in zip(table.keys, table.values, strict=True) if key.value == exercise)
    waiting, found = [(module, check)], []
    while waiting:
        room, node = waiting.pop()
        if node in found:
            continue
        found.append(node)
        for name in {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}:
            home, there = imports(room).get(name, (room, name))
            if there in definitions(home):
                waiting.append((home, definitions(home)[there]))
    return found
