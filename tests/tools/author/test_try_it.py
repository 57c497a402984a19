"""README's first screen says how to try the course in a browser, with an address where there is one."""

import pytest

from tools.author import try_it

README = (try_it.ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_says_what_holds_now():
    assert try_it.written(README, try_it.address()) == README
    assert try_it.sentence(try_it.address()) in README.partition("\n## ")[0]


@pytest.mark.parametrize("address", ["https://example.org/course", "https://example.org/course/"])
def test_an_address_gets_a_link_to_the_playground(address):
    page = try_it.written(README, address)
    assert "[Try it in your browser](https://example.org/course/playground.html)" in page
    assert len(page.split()) <= len(README.split())
    assert try_it.written(page, "") == try_it.written(README, "")
