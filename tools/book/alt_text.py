"""Figures keep their description: MyST-NB drops the alt text that an output carries beside its picture."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path, PurePosixPath

import nbformat
from docutils import nodes


def descriptions(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Hash of a PNG, which MyST-NB takes for its file name -> what the picture shows, in words."""
    return {
        hashlib.sha256(base64.b64decode(output.data["image/png"])).hexdigest(): alt
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {}) and (alt := output.metadata.get("image/png", {}).get("alt"))
    }


def restore(app, doctree: nodes.document) -> None:
    source = Path(app.env.doc2path(app.env.docname))
    if source.suffix != ".ipynb":
        return
    known = descriptions(nbformat.read(source, as_version=4))
    for image in doctree.findall(nodes.image):
        if alt := known.get(PurePosixPath(image["uri"]).stem):
            image["alt"] = alt


def setup(app) -> dict[str, bool]:
    app.connect("doctree-read", restore)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
