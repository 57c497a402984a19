"""What a hostile answer shows does nothing on its feedback page; what an ordinary one shows stays."""

import re
import time

import pytest

from tests.tools.classroom.hostile import HOSTILE, PAGE
from tools.classroom.feedback import IN_PLACE, RULE, safe


def cleaned(body: str) -> str:
    return safe(PAGE.replace("@", body)).partition("<body>")[2].removesuffix("</body></html>")


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_hostile_is_left(name):
    left = cleaned(HOSTILE[name]).lower()
    assert not re.search(r"<(script|meta|iframe|object|embed|svg|form|base|link|style|math|template)\b", left)
    assert not re.search(r"<[^>]*\s(on\w+|srcdoc|action|formaction)\s*=", left)
    assert not re.search(r"(javascript|vbscript|data:text|href=.data:)", left)


@pytest.mark.parametrize("name", ["script", "style"])
def test_what_is_taken_out_is_not_shown_as_text(name):
    assert cleaned(f"<p>a</p>{HOSTILE[name]}<p>b</p>") == "<p>a</p><p>b</p>"


@pytest.mark.parametrize(
    "kept",
    [
        '<div class="panel panel-primary nbgrader_cell"><a name="check-00-1"></a><span class="k">for</span></div>',
        '<a href="#top">(Top)</a>, <a href="https://example.org/a?b=1&amp;c">there</a>',
        '<pre>if (a &lt; b) x &amp;= "1";</pre>',
        "<table><caption>Counters</caption><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>",
        "<details><summary>Hint</summary>Take the <code>barrier</code>.</details>",
        '<span style="display:block;background:#fee">a changed line</span>',
        '<span style="display:block;padding-left:10ch;text-indent:-8ch">a line of a report</span>',
        '<span style="padding-left:0.6em;font-family:monospace">2 %</span>',
        '<img alt="two bars" src="data:image/png;base64,iVBORw0KGgo=">',
        '<img alt="two bars" src="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=">',
    ],
)
def test_an_ordinary_page_stays_as_it_is(kept):
    assert cleaned(kept) == kept


def test_the_browser_gets_a_rule_before_anything_else():
    page = safe(PAGE.replace("<title>", "<script src='https://x.invalid'></script><title>"))
    assert f"<head>{RULE}" in page and f"{IN_PLACE}</head>" in page and "<script" not in page
    assert "<style>p { color: red }</style>" in page, "its own look"


def test_a_page_of_unknown_form_is_not_written():
    with pytest.raises(ValueError, match="no <body>"):
        safe("<html><p>x</p></html>")


def test_scripts_that_never_end_take_no_time():
    begin = time.monotonic()
    cleaned("<script>" * 50_000)
    assert time.monotonic() - begin < 10
