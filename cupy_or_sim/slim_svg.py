"""An SVG as Matplotlib writes it, without what nobody sees: half as long, so that a notebook can keep it."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def slim(text: str) -> str:
    """The same drawing: lengths in tenths of a point, no group without a use, no name that nothing refers to."""
    root = ElementTree.fromstring(text)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        if path := element.get("d"):
            element.set(
                "d", re.sub(r"\d+\.\d+", lambda length: f"{float(length[0]):.1f}", " ".join(path.split()))
            )
        element.tail = "\n"
    _splice(root)
    return ElementTree.tostring(root, encoding="unicode")


def _splice(parent: Element) -> None:
    """Put what is in groups that say nothing where the groups are; leave out the metadata."""
    kept: list[Element] = []
    for child in parent:
        _splice(child)
        if child.tag == f"{{{SVG}}}g" and not child.attrib:
            kept += child
        elif child.tag != f"{{{SVG}}}metadata":
            kept.append(child)
    parent[:] = kept
