"""A kind is told by its fields, wherever it stands in the table."""

import ast
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from ptxsim.races import hazards

NAMES = ("RACES", "BAD_ADDRESS", "FATAL")
NAME, ORDER = "no kind has spaces", 15.5
"""Neither can be a real one's."""
NEW = f"Kind({NAME!r}, {ORDER}, 'planted')"


def with_a_new_kind(place: int) -> ModuleType:
    """The module, with a kind more at this place of its table."""
    tree = ast.parse(Path(hazards.__file__).read_text(encoding="utf-8"))
    (table,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_KINDS"
    )
    table.elts.insert(place, ast.parse(NEW, mode="eval").body)
    module = ModuleType("with_a_new_kind")
    vars(module)["__package__"] = hazards.__package__
    vars(module)["__name__"] = hazards.__name__
    exec(compile(ast.fix_missing_locations(tree), "hazards", "exec"), vars(module))
    return module


@pytest.mark.parametrize("place", range(len(hazards.KINDS) + 1))
def test_a_kind_put_anywhere_changes_nothing_else(place):
    changed = with_a_new_kind(place)
    assert [getattr(changed, name) for name in NAMES] == [getattr(hazards, name) for name in NAMES]
    names = [kind.name for kind in changed.KINDS]
    assert names.index(NAME) == sum(kind.order < ORDER for kind in hazards.KINDS)
    assert [name for name in names if name != NAME] == [kind.name for kind in hazards.KINDS]


def test_what_the_kinds_are():
    races = (
        "unwaited-copy unwaited-tcgen05 read-after-write write-after-read write-after-write block-conflict"
    )
    assert {*races.split()} == hazards.RACES
    assert {"out-of-bounds", "misaligned"} == hazards.BAD_ADDRESS
    orders = Counter(kind.order for kind in hazards.KINDS)
    assert not [kind.name for kind in hazards.KINDS if orders[kind.order] > 1], "of one order"
    serious = [kind.order for kind in hazards.KINDS if not kind.fatal]
    assert max(serious) < min(kind.order for kind in hazards.KINDS if kind.fatal)
    assert not any(kind.race + kind.bad_address + kind.fatal > 1 for kind in hazards.KINDS)
