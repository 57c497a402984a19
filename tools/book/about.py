"""What a page says of itself: a description for previews, and in its footer the version and the day it was made."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes

LONGEST = 200  # characters, about what previews show
_LABEL = re.compile(r"^Promise\. ")


def description(doctree: nodes.document) -> str:
    """The first sentences of a page's prose, as many as fit; "" where it has none."""
    for paragraph in doctree.findall(nodes.paragraph):
        if not any("cell_output" in around.get("classes", ()) for around in _around(paragraph)):
            text = _LABEL.sub("", " ".join(paragraph.astext().split()))
            return shortened(text)
    return ""


def _around(node: nodes.Node) -> Iterator[nodes.Element]:
    while (node := node.parent) is not None:
        yield node


def shortened(text: str) -> str:
    """Whole sentences of it, or where the first one is too long its first words."""
    if len(text) <= LONGEST:
        return text
    end = text.rfind(". ", 0, LONGEST) + 1
    return text[:end] if end else f"{text[: LONGEST - 1].rpartition(' ')[0]} …"


def tell(app, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Give the templates the description of the page."""
    context["summary"] = (doctree is not None and description(doctree)) or app.config.html_title


def setup(app) -> dict[str, bool]:
    app.connect("html-page-context", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
