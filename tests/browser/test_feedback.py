"""A feedback page in a browser: a hostile answer leads nowhere, asks nobody and changes nothing."""

from tests.sample import in_long
from tests.tools.classroom.hostile import HOSTILE, PAGE
from tools.classroom.feedback import RULE, safe

BY_THEMSELVES = ("script", "meta refresh", "iframe", "event handler", "javascript link", "svg with a script")


def taken_over(page, file, text: str) -> bool:
    """Whether a page with this text does anything by itself, or when its link is followed."""
    file.write_text(text, encoding="utf-8")
    page.outside.clear()
    page.goto(file.as_uri())
    if page.locator("#hit").count():
        page.locator("#hit").click()
    page.wait_for_timeout(150)
    return bool(page.outside) or page.url.partition("#")[0] != file.as_uri() or page.title() != "x"


def test_no_answer_takes_a_page_over(open_page, tmp_path):
    page, file = open_page("about:blank"), tmp_path / "page.html"
    pages = {name: safe(PAGE.replace("@", HOSTILE[name])) for name in HOSTILE}
    assert [name for name, text in pages.items() if taken_over(page, file, text)] == []
    bare = {name: text.replace(RULE, "") for name, text in pages.items()}
    assert [name for name, text in bare.items() if taken_over(page, file, text)] == [], (
        "without the browser's help"
    )
    for name in *BY_THEMSELVES, "style in other letters", "style, escaped":
        assert taken_over(page, file, PAGE.replace("@", HOSTILE[name])), f"{name}: the test would not see it"
        page = open_page("about:blank")


@in_long
def test_what_an_answer_shows_lies_over_nothing_else(open_page, tmp_path):
    text = PAGE.replace("</head>", "<style>.fixed { position: fixed; top: 0 }</style></head>")
    file = tmp_path / "page.html"
    file.write_text(
        safe(text.replace("@", '<p>first</p><p class="fixed">Score: 3 / 3</p>')), encoding="utf-8"
    )
    first, second = (open_page(file.as_uri()).locator("p").nth(place).bounding_box() for place in (0, 1))
    assert second["y"] >= first["y"] + first["height"]
