"""Each kind of finding and each cause is told in the words of ptxsim/races/hazards.py."""

from tools.author import kinds, marked


def test_the_tables_are_current():
    page = kinds.PAGE.read_text(encoding="utf-8")
    assert marked.between(page, "kinds", kinds.kinds()) == page, "run `python -m tools.author.kinds`"
    assert kinds.FILE.read_text(encoding="utf-8") == kinds.causes(), "run `python -m tools.author.kinds`"
