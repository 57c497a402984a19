"""Feedback pages hold what learners wrote and drew: nothing in them runs, asks other machines, or leads away by itself.

nbconvert's own `sanitize_html` is not enough: nbgrader's template shows Markdown cells without it, and cleaned before
they are rendered, as SanitizeHTML does, a link written in Markdown stays. So nh3 cleans the whole body of the finished
page. A browser gets a rule in each page besides, which refuses scripts and requests.
"""

import re

import nh3
from nbconvert.exporters import HTMLExporter

from cupy_or_sim.style import with_words

RULE = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'\">"
)
IN_PLACE = "<style>body * { position: static !important; }</style>"
"""Nothing lies over the rest of the page: a class of the page's own style could put it there."""
ATTRIBUTES = {
    "*": {"class", "id", "title", "style", "lang"},
    "a": {"name", "href"},
    "img": {"alt", "width", "height", "src"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
    "ol": {"start"},
}
VALUES = {  # an SVG that is an image runs nothing and loads nothing, whatever stands in it
    "href": re.compile(r"#|https?://"),
    "src": re.compile(r"data:image/(png|jpeg|gif|svg\+xml);base64,"),
    "style": re.compile(r"(?!.*(url|image))[-\w\s:;,.#%()'/]*\Z", re.IGNORECASE | re.DOTALL),
}
STYLES = {
    "background", "background-color", "border-collapse", "border-left", "color", "direction", "display", "font",
    "font-family", "font-size", "font-style", "font-variant", "font-weight", "height", "letter-spacing",
    "line-height", "overflow", "overflow-wrap", "padding-left", "text-align", "text-decoration", "text-indent",
    "vertical-align", "white-space", "width", "word-break",
}  # fmt: skip
"""Of a style, what the course's own tables and listings use, and what changes no place."""


class SafePages(HTMLExporter):
    """Writes the pages; what cannot be made safe is not written."""

    def from_notebook_node(self, nb: object, resources: dict | None = None, **kw: object) -> tuple[str, dict]:
        for output in (output for cell in nb.cells for output in cell.get("outputs", ())):
            with_words(output)
        page, resources = super().from_notebook_node(nb, resources, **kw)
        return safe(page), resources


def safe(page: str) -> str:
    """The page without what a learner could do harm with. Raises ValueError where it has no body."""
    head, found, body = page.partition("<body>")  # the head is nbgrader's, and holds no word of a learner
    if not found:
        raise ValueError("a feedback page has no <body>")
    head = re.sub(r"(?is)<script\b.*?</script>", "", head)
    head = head.replace("<head>", f"<head>{RULE}", 1).replace("</head>", f"{IN_PLACE}</head>")
    clean = nh3.clean(
        body,
        attributes=ATTRIBUTES,
        attribute_filter=_allowed,
        filter_style_properties=STYLES,
        url_schemes={"http", "https", "data"},
        link_rel=None,
    )
    return f"{head}<body>{clean}</body></html>"


def _allowed(tag: str, name: str, value: str) -> str | None:
    """The value that an element's attribute may have; None takes the attribute out."""
    return value if name not in VALUES or VALUES[name].match(value) else None
