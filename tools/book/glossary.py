"""The first use of a word in each chapter leads to docs/glossary.md, and shows its meaning to the mouse.

An entry there is `word, another form of it · Chinese`, and below it `: what it means`. Sphinx's own glossary links only
what a text marks, and shows no meaning; a marked text could not be read in JupyterLab.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes

PAGE = "docs/glossary"
FILE = Path(__file__).parents[2] / f"{PAGE}.md"
_ENTRY = re.compile(r"^(?P<forms>\S.*?) · (?P<chinese>.+)\n: (?P<meaning>.+)$", re.MULTILINE)
_NO_PROSE = (nodes.title, nodes.reference, nodes.FixedTextElement, nodes.term, nodes.Invisible)


@dataclass(frozen=True)
class Entry:
    forms: tuple[str, ...]
    chinese: str
    meaning: str

    @property
    def anchor(self) -> str:
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.forms[0].lower()).strip("-")


def entries(text: str) -> list[Entry]:
    """The entries of a glossary in their order."""
    return [
        Entry(tuple(entry["forms"].replace("`", "").split(", ")), entry["chinese"], entry["meaning"])
        for entry in _ENTRY.finditer(text)
    ]


class Words:
    """The words of a glossary, to be found in prose: longest first, with or without a plural's s, at most once each."""

    def __init__(self, all_entries: list[Entry]) -> None:
        self.entry = {form.lower(): entry for entry in all_entries for form in entry.forms}
        longest = sorted(self.entry, key=len, reverse=True)
        self.pattern = re.compile(
            rf"(?<![\w.-])({'|'.join(map(re.escape, longest))})s?(?![\w-]|\.\w)", re.IGNORECASE
        )

    def first_uses(self, text: str, seen: set[str]) -> list[tuple[int, int, Entry]]:
        """(begin, end, entry) of the words in a text that are not among `seen`, the anchors met before; adds them."""
        found = []
        for match in self.pattern.finditer(text):
            entry = self.entry[match[1].lower()]
            if entry.anchor not in seen:
                seen.add(entry.anchor)
                found.append((*match.span(), entry))
        return found


def name_entries(app, doctree: nodes.document) -> None:
    """On the glossary's own page: a place to link to for each entry, and its Chinese marked as such."""
    if app.env.docname == PAGE:
        for term, entry in zip(
            doctree.findall(nodes.term), entries(FILE.read_text(encoding="utf-8")), strict=True
        ):
            term["ids"].append(entry.anchor)
            english = term[-1].removesuffix(entry.chinese)
            chinese = nodes.inline("", entry.chinese, classes=["language-zh"])  # in HTML: lang="zh"
            term[-1:] = [nodes.Text(english), chinese]


def link_first_uses(app, doctree: nodes.document, docname: str) -> None:
    """In a chapter: a link at the first use of each word, in prose that is not folded away."""
    if not docname.startswith("notebooks/"):
        return
    words, seen = Words(entries(FILE.read_text(encoding="utf-8"))), set[str]()
    for text in _prose(doctree):
        if isinstance(text.parent, nodes.literal) and text.lower() not in words.entry:
            continue  # code, and more of it than the word alone
        begin, parts = 0, []
        for start, end, entry in words.first_uses(text, seen):
            parts += [nodes.Text(text[begin:start]), _link(app, docname, text[start:end], entry)]
            begin = end
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[begin:])])


def _prose(doctree: nodes.document) -> list[nodes.Text]:
    """Texts in paragraphs, and not in a fold, heading, code, link or output; a word of code alone counts."""
    folded, found = 0, []
    for node in doctree.findall():
        if isinstance(node, nodes.raw):
            folded += node.astext().count("<details") - node.astext().count("</details")
        elif isinstance(node, nodes.Text) and not folded:
            above = list(around(node))
            outside = any(isinstance(each, _NO_PROSE) or "cell" in each.get("classes", ()) for each in above)
            if not outside and any(isinstance(each, nodes.paragraph) for each in above):
                found.append(node)
    return found


def around(node: nodes.Node) -> Iterator[nodes.Element]:
    while (node := node.parent) is not None:
        yield node


def _link(app, docname: str, text: str, entry: Entry) -> nodes.reference:
    address = f"{app.builder.get_relative_uri(docname, PAGE)}#{entry.anchor}"
    title = f"{entry.chinese} · {entry.meaning.replace('`', '')}"
    return nodes.reference("", text, internal=True, refuri=address, reftitle=title, classes=["word"])


def setup(app) -> dict[str, bool]:
    app.connect("doctree-read", name_entries)
    app.connect("doctree-resolved", link_first_uses)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
