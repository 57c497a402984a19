"""The simulator's README has each kind of finding and each cause, in the words of ptxsim/races/hazards.py."""

import pytest

from tools.author import kinds, marked


@pytest.mark.parametrize("name", kinds.TABLES)
def test_the_tables_are_current(name):
    page = kinds.PAGE.read_text(encoding="utf-8")
    table = kinds.table(kinds.TABLES[name], name.removesuffix("s"))
    assert marked.between(page, name, table) == page, "run `python -m tools.author.kinds`"
