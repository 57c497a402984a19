"""What a page says to the scripts that run its cells (tools/live), where they are there."""

import re

HOW_TO_SERVE = "make serve"


def tell(app, pagename: str, templatename: str, context: dict, doctree: object) -> None:
    """Give the templates the name of the page's notebook, and how to serve the book."""
    whole = re.sub(r"-\d+$", "", pagename)
    context["live_notebook"] = whole.removeprefix("notebooks/") if whole.startswith("notebooks/") else ""
    context["how_to_serve"] = HOW_TO_SERVE


def setup(app) -> dict[str, bool]:
    app.connect("html-page-context", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
