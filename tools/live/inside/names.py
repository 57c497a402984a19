"""Which names a cell reads and writes, read off its text; and so which cells above it needs."""

import ast
import symtable
from collections.abc import Iterator, Sequence
from functools import lru_cache


@lru_cache(maxsize=4096)
def reads_and_writes(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names that a cell takes from cells above, and names that cells below may take from it. What it changes in
    place, by an index, an attribute or a launch, is both. A cell that is no Python reads and writes nothing."""
    read: set[str] = set()
    written: set[str] = set()
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return frozenset(), frozenset()
    for statement in statements:
        table = symtable.symtable(ast.unparse(statement), "cell", "exec")
        changed = set(_changed(statement))
        read |= ({*_read(table)} | changed) - written
        names = table.get_symbols()
        written |= changed | {name.get_name() for name in names if name.is_assigned() or name.is_imported()}
    return frozenset(read), frozenset(written)


def _read(table: symtable.SymbolTable, top: bool = True) -> Iterator[str]:
    """Global names that the code, and what is inside it, refers to."""
    for name in table.get_symbols():
        if name.is_referenced() and (top or name.is_global()):
            yield name.get_name()
    for inner in table.get_children():
        yield from _read(inner, top=False)


def _changed(tree: ast.AST) -> Iterator[str]:
    """Names whose objects a statement changes without assigning them anew."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from _base(node)
        elif isinstance(node, ast.AugAssign):
            yield from _base(node.target)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for argument in _launched(node):
                yield from _base(argument)


def _launched(call: ast.Call) -> list[ast.expr]:
    """The arguments that a launch hands to its kernel: of `kernel(grid, block, (A, B, C))`, or of `simulate`."""
    simulated = call.func.id == "simulate"
    given = call.args[3:4] if simulated else call.args[2:3]
    looks_like_one = simulated or any(isinstance(each, ast.Tuple) for each in call.args[:2])
    return [element for each in given if looks_like_one for element in getattr(each, "elts", [each])]


def _base(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Starred):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def needs(sources: Sequence[str]) -> list[dict[str, int]]:
    """For each cell the names it takes from above, and which cell wrote each of them last."""
    last: dict[str, int] = {}
    found = []
    for number, source in enumerate(sources):
        read, written = reads_and_writes(source)
        found.append({name: last[name] for name in sorted(read) if name in last})
        last |= dict.fromkeys(written, number)
    return found


def before(needed: Sequence[dict[str, int]], number: int) -> list[int]:
    """The cells that a cell needs, and those that they need, in order; itself last."""
    found, left = {number}, [number]
    while left:
        for other in needed[left.pop()].values():
            if other not in found:
                found.add(other)
                left.append(other)
    return sorted(found)
