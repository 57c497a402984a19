"""Feedback pages hold what learners wrote and drew: nothing in them runs, asks other machines, or leads away by itself.

Whatever is not in the lists below is taken out, in the whole body of a page and not only where outputs stand. A browser
gets a rule in each page besides, which refuses scripts and requests.
"""

from __future__ import annotations

import re

import bleach
from bleach.css_sanitizer import ALLOWED_CSS_PROPERTIES, CSSSanitizer
from nbconvert.exporters import HTMLExporter

RULE = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'\">"
)
IN_PLACE = "<style>body * { position: static !important; }</style>"
"""Nothing lies over the rest of the page: a class of the page's own style could put it there."""
TAGS = {
    *(
        "a",
        "abbr",
        "b",
        "blockquote",
        "br",
        "caption",
        "cite",
        "code",
        "col",
        "colgroup",
        "dd",
        "del",
        "details",
    ),
    *(
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "img",
        "ins",
    ),
    *(
        "kbd",
        "li",
        "mark",
        "ol",
        "p",
        "pre",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "summary",
        "sup",
    ),
    *("table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul", "var"),
}
ATTRIBUTES = {
    "*": {"class", "id", "title", "style", "lang"},
    "a": {"name"},
    "img": {"alt", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
    "ol": {"start"},
}
ADDRESSES = {
    ("a", "href"): re.compile(r"#|https?://"),
    ("img", "src"): re.compile(r"data:image/(png|jpeg|gif);base64,"),
}
STYLES = ALLOWED_CSS_PROPERTIES | {
    *("background", "border-left", "font-family", "overflow-wrap", "padding-left", "word-break"),
}
"""Of a style, what the course's own tables and listings use, and what changes no place."""


class SafePages(HTMLExporter):
    """Writes the pages; what cannot be made safe is not written."""

    def from_notebook_node(self, nb: object, resources: dict | None = None, **kw: object) -> tuple[str, dict]:
        page, resources = super().from_notebook_node(nb, resources, **kw)
        return safe(page), resources


def safe(page: str) -> str:
    """The page without what a learner could do harm with. Raises ValueError where it has no body."""
    head, found, body = page.partition("<body>")  # the head is nbgrader's, and holds no word of a learner
    if not found:
        raise ValueError("a feedback page has no <body>")
    head = (
        _without("script", head)
        .replace("<head>", f"<head>{RULE}", 1)
        .replace("</head>", f"{IN_PLACE}</head>")
    )
    for name in "script", "style":
        body = _without(name, body)  # of what goes below, the text would stay
    cleaner = bleach.Cleaner(
        tags=TAGS,
        attributes=_allowed,
        protocols={"http", "https", "data"},
        strip=True,
        css_sanitizer=CSSSanitizer(allowed_css_properties=STYLES),
    )
    return f"{head}<body>{cleaner.clean(body)}</body></html>"


def _without(name: str, text: str) -> str:
    """The text without these elements and what is in them; reads it once, however many begin and do not end."""
    lower, kept, done = text.lower(), [], 0
    while (begin := lower.find(f"<{name}", done)) >= 0 and (end := lower.find(f"</{name}", begin)) >= 0:
        kept.append(text[done:begin])
        done = (lower.find(">", end) + 1) or len(text)
    return "".join([*kept, text[done:]])


def _allowed(tag: str, name: str, value: str) -> bool:
    """Whether an element may have this attribute."""
    if address := ADDRESSES.get((tag, name)):
        return bool(address.match(value))
    if name == "style":
        return bool(re.fullmatch(r"[-\w\s:;,.#%()'/]*", value)) and not re.search(r"(?i)url|image", value)
    return name in ATTRIBUTES["*"] | ATTRIBUTES.get(tag, set())
