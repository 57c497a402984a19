"""Figures keep their description: MyST-NB drops the alt text that an output carries beside its picture."""

import base64
import hashlib
from pathlib import Path, PurePosixPath

import nbformat
from docutils import nodes

from cupy_or_sim.style import PICTURES


def descriptions(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Hash of a picture, which MyST-NB takes for its file name -> what the picture shows, in words."""
    return {
        hashlib.sha256(_bytes(form, output.data[form])).hexdigest(): alt
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        for form in PICTURES
        if form in output.get("data", {}) and (alt := output.metadata.get(form, {}).get("alt"))
    }


def _bytes(form: str, data: str) -> bytes:
    """Of the file that MyST-NB makes of it."""
    return "\n".join(data.splitlines()).encode() if "svg" in form else base64.b64decode(data)


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
