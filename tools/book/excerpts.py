"""Text for the search page, so that each hit shows where the word stands: a script beside Sphinx's own index.

Sphinx would fetch each page that it found, which a browser refuses for plain files. A script it loads.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

DATA, SCRIPT = "excerpts_data.js", "excerpts.js"
_PROSE = (nodes.paragraph, nodes.term)
_CODE = (nodes.literal_block, nodes.doctest_block)

Section = tuple[str, str, str, str]
"""Its anchor ("" for the page itself), its title, its prose, its code."""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _load)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def sections(tree: nodes.document) -> list[Section]:
    """What stands on a page, by section, each without the sections in it; those without words are left out."""
    top = [tree, *tree.findall(nodes.section)]
    return [
        ("" if part is tree else part["ids"][0], _title(part), prose, code)
        for part in top
        if (prose := _text(part, _PROSE)) + (code := _text(part, _CODE, "\n"))
    ]


def _title(part: nodes.Element) -> str:
    title = next((child for child in part.children if isinstance(child, nodes.title)), None)
    return title.astext() if title else ""


def _text(part: nodes.Element, kinds: tuple[type[nodes.Element], ...], between: str = " ") -> str:
    """All texts of these kinds; of prose without its line breaks."""
    found = [node.astext() for node in _own(part) if isinstance(node, kinds)]
    return between.join(found if between == "\n" else (" ".join(text.split()) for text in found))


def _own(part: nodes.Element) -> Iterator[nodes.Node]:
    """Nodes below `part`, without its heading, its sections, and what a cell printed."""
    for child in part.children:
        printed = isinstance(child, nodes.Element) and "cell_output" in child["classes"]
        if printed or isinstance(child, (nodes.section, nodes.title)):
            continue
        yield child
        if isinstance(child, nodes.Element) and not isinstance(child, (*_PROSE, *_CODE)):
            yield from _own(child)


def _load(app: Sphinx, page: str, template: str, context: dict, tree: nodes.document | None) -> None:
    if page == "search":
        app.add_js_file(DATA)
        app.add_js_file(SCRIPT)


def _write(app: Sphinx, failure: Exception | None) -> None:
    if failure or app.builder.format != "html":
        return
    pages = {name: sections(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "_static", DATA).write_text(f"window.EXCERPTS = {text};\n", encoding="utf-8")
