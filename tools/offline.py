"""Take out of an HTML page what a browser would load from elsewhere. Links that one clicks stay."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag

_LOADING = ("src", "srcset", "href", "xlink:href", "data", "poster", "background")
_CLICKED = ("a", "area")
_ELSEWHERE = r"(?!data:|blob:)(?:[a-z][a-z0-9+.-]*:|[/\\]{2})"
_ADDRESS = re.compile(rf"(?:^|,)\s*{_ELSEWHERE}", re.IGNORECASE)  # a srcset names several, between commas
_IN_STYLE = re.compile(rf"""(url\(\s*["']?|@import[^;"']*["'])\s*{_ELSEWHERE}[^"')]*""", re.IGNORECASE)
_IN_SCRIPT = re.compile(r"""https?://|["'`]//""", re.IGNORECASE)
_RULE = "default-src data: blob: 'unsafe-inline' 'unsafe-eval'"


def without_network(page: str) -> str:
    """The page without scripts, styles, pictures, fonts and frames from elsewhere, and with a rule against them.

    The browser keeps the rule: it also refuses what a script loads, or an address that is spelled unusually.
    """
    soup = _parse(page)
    _strip(soup)
    rule = soup.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": _RULE})
    soup.head.insert(0, rule)
    return str(soup)


def _parse(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser", multi_valued_attributes=None)


def _strip(soup: BeautifulSoup) -> None:
    for tag in soup.find_all(True):
        if _is_loader(tag):
            tag.decompose()
        elif tag.name == "style":
            tag.string = _IN_STYLE.sub(r"\1", tag.text)
        elif tag.name not in _CLICKED:
            _strip_attributes(tag)


def _is_loader(tag: Tag) -> bool:
    """A script that loads something, as nbconvert's for formulas, widgets and diagrams; a page's jump elsewhere."""
    if tag.name == "script":
        return bool(_ADDRESS.search(tag.get("src", "")) or _IN_SCRIPT.search(tag.text))
    return tag.name == "meta" and tag.get("http-equiv", "").lower() == "refresh"


def _strip_attributes(tag: Tag) -> None:
    for name, value in list(tag.attrs.items()):
        if name in _LOADING and _ADDRESS.search(value):
            del tag[name]
        elif name == "srcdoc":  # a whole page as the text of a frame
            inner = _parse(value)
            _strip(inner)
            tag[name] = str(inner)
        else:
            tag[name] = _IN_STYLE.sub(r"\1", value)
