"""What a page says of itself: a description for previews, and in its footer the version, the day it was made, the
lesson as a notebook in the browser where the book has these and, once the repository has an address (`Repository` in
pyproject.toml), where to change it, report a mistake or run it."""

import re
from pathlib import Path
from urllib.parse import quote, urlsplit

from docutils import nodes

from hiding_latency.packages import pyproject

from .glossary import around

ROOT = Path(__file__).parents[2]

LONGEST = 200  # characters, about what previews show
_LABEL = re.compile(r"^Promise\. ")


def description(doctree: nodes.document) -> str:
    """The first sentences of a page's prose, as many as fit; "" where it has none."""
    for paragraph in doctree.findall(nodes.paragraph):
        if not any("cell_output" in each.get("classes", ()) for each in around(paragraph)):
            text = _LABEL.sub("", " ".join(paragraph.astext().split()))
            return shortened(text)
    return ""


def shortened(text: str) -> str:
    """Whole sentences of it, or where the first one is too long its first words."""
    if len(text) <= LONGEST:
        return text
    end = text.rfind(". ", 0, LONGEST) + 1
    return text[:end] if end else f"{text[: LONGEST - 1].rpartition(' ')[0]} …"


def repository() -> str:
    """The address of the repository; "" while it has none."""
    address = pyproject(ROOT)["project"]["urls"]["Repository"].rstrip("/")
    return "" if (urlsplit(address).hostname or "").endswith(".invalid") else address


def file_of(page: str) -> str:
    """The file of the repository that a page is made from: all sittings from their lesson; "" for one made here."""
    whole = re.sub(r"-\d+$", "", page)
    return next((f for f in (f"{whole}.ipynb", f"{page}.md", page) if (ROOT / f).is_file()), "")


def links(address: str, page: str) -> list[tuple[str, str]]:
    """(words, address) of what can be done with a page; without an address of the repository, nothing."""
    file = file_of(page)
    if not address or not file:
        return []
    found = [
        ("Edit this page", f"{address}/edit/main/{file}"),
        ("Report a mistake", f"{address}/issues/new?title={quote(file)}"),
    ]
    where = urlsplit(address)
    if file.endswith(".ipynb") and where.hostname == "github.com":
        at_colab = f"https://colab.research.google.com/github{where.path}/blob/main/{file}"
        at_binder = f"https://mybinder.org/v2/gh{where.path}/main?urlpath=lab/tree/{file}"
        found += [("Open in Colab", at_colab), ("Open in Binder", at_binder)]
    return found


def tell(app, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Give the templates the description of the page and its links."""
    context["page_links"] = links(repository(), pagename)
    context["summary"] = (doctree is not None and description(doctree)) or app.config.html_title


def setup(app) -> dict[str, bool]:
    app.connect("html-page-context", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
