"""Kernels read out of the notebooks, which are their only home, and the differences between them."""

from __future__ import annotations

import ast
import difflib
import html
import json
import re
from pathlib import Path

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
_LESSON = re.compile(r"[0-9]{2}_[A-Za-z0-9_]+\.ipynb")


def notebooks(folder: Path) -> list[Path]:
    """The lessons in a folder, in order: `NN_name.ipynb`. Any other notebook there is a learner's own."""
    return sorted(path for path in folder.glob("*.ipynb") if _LESSON.fullmatch(path.name))


def kernels(notebook: str) -> dict[str, str]:
    """Kernel name -> CUDA source, in the notebook's order: from the cells with a tag `kernel:<name>`."""
    path = NOTEBOOKS / f"{notebook.removesuffix('.ipynb')}.ipynb"
    if not path.is_file():
        known = ", ".join(p.stem for p in notebooks(NOTEBOOKS)) or "none found"
        raise ValueError(f"there is no notebook {notebook!r}; notebooks: {known}")
    return {
        tag.removeprefix("kernel:"): _assigned_string("".join(cell["source"]), tag)
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for tag in cell["metadata"].get("tags", ())
        if tag.startswith("kernel:")
    }


def kernel_source(notebook: str, kernel_name: str) -> str:
    """CUDA source of one kernel: `kernel_source("01_mainloop", "tiled")`."""
    found = kernels(notebook)
    if kernel_name not in found:
        raise ValueError(f"{notebook} has no kernel {kernel_name!r}; it has {', '.join(found) or 'none'}")
    return found[kernel_name]


def edited(source: str, *changes: tuple[str, str]) -> str:
    """The source with each (text, new text) replaced, everywhere. Raises ValueError when a text is not there."""
    for old, new in changes:
        if old not in source:
            near = difflib.get_close_matches(old.strip(), [line.strip() for line in source.splitlines()], 1)
            raise ValueError(f"the kernel has no {old!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
        source = source.replace(old, new)
    return source


def show_diff(a: object, b: object) -> Diff:
    """What changed from kernel `a` to kernel `b`; each is CUDA source or a `cp.RawKernel`."""
    before, after = (getattr(side, "code", side).strip("\n").splitlines() for side in (a, b))
    return Diff("\n".join([*difflib.unified_diff(before, after, lineterm="")][2:]) or "no difference")


class Diff(str):
    """A unified text diff; lines begin with `+`, `-`, a space, or `@@`."""

    __repr__ = str.__str__

    def _repr_html_(self) -> str:
        # Half-transparent shades suit a light and a dark theme; the marks do without colour.
        shades = {"+": "rgba(0,158,115,.22)", "-": "rgba(213,94,0,.22)", "@": "rgba(128,128,128,.18)"}
        row = '<span style="display:block;background:{}">{}</span>'
        rows = (row.format(shades.get(line[:1], "none"), html.escape(line)) for line in self.split("\n"))
        return f'<pre style="line-height:1.35">{"".join(rows)}</pre>'


def _assigned_string(source: str, tag: str) -> str:
    """The string of the cell's one assignment `name = r'''...'''`; nothing of the cell is executed."""
    values = [node.value for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    texts = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    if len(values) != 1 or len(texts) != 1:
        raise ValueError(f"the cell tagged {tag!r} must hold one assignment of one plain string")
    return texts[0]
