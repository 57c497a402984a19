"""README's first screen says how to get the course, and offers nothing that a visitor cannot take."""

import re

import pytest

from tools.author import try_it

README = (try_it.ROOT / "README.md").read_text(encoding="utf-8")
SOMEWHERE = "https://example.org/owner/hiding-latency"


def test_readme_says_what_holds_now():
    assert try_it.written(README, *try_it.addresses()) == README
    assert try_it.clone(try_it.addresses()[0]) in README.partition("\n## ")[0]


def test_a_visitor_is_sent_to_no_address_that_is_none():
    assert ".invalid" not in README and "make live" not in README


@pytest.mark.parametrize("book", ["https://example.org/course", "https://example.org/course/"])
def test_addresses_are_written_where_they_belong(book):
    page = try_it.written(README, SOMEWHERE, book)
    assert f"git clone {SOMEWHERE} hiding-latency\ncd hiding-latency\nmake lab\n" in page
    assert (
        "[Try it in your browser](https://example.org/course/playground.html)" in page.partition("\n## ")[0]
    )
    assert try_it.written(page, *try_it.addresses()) == README


def test_the_commands_of_the_readme_are_those_of_the_makefile():
    """Each target first brings `.venv` up to date, so each may be the first that one types."""
    boxes = re.findall(r"^```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    typed = [line.partition("#")[0].split() for box in boxes for line in box.splitlines()]
    assert typed == [["git", "clone", "ADDRESS", "hiding-latency"], ["cd", "hiding-latency"],
                     ["make", "lab"], ["make", "course"], ["make", "test"]]  # fmt: skip
    makefile = (try_it.ROOT / "Makefile").read_text(encoding="utf-8")
    for _, target in typed[2:]:
        assert re.search(rf"^{target}: install$", makefile, re.MULTILINE)
