"""Kernels read out of the notebooks, which are their only home, and the differences between them."""

from __future__ import annotations

import ast
import difflib
import html
import json
from dataclasses import dataclass
from pathlib import Path

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def kernels(notebook: str) -> dict[str, str]:
    """Kernel name -> CUDA source, in the notebook's order: from the cells with a tag `kernel:<name>`."""
    path = NOTEBOOKS / f"{notebook.removesuffix('.ipynb')}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb"))) or "none found"
        raise ValueError(f"there is no notebook {notebook!r}; notebooks: {known}")
    found = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for tag in cell["metadata"].get("tags", ()):
            if tag.startswith("kernel:"):
                found[tag.removeprefix("kernel:")] = _assigned_string("".join(cell["source"]), tag)
    return found


def kernel_source(notebook: str, kernel_name: str) -> str:
    """CUDA source of one kernel: `kernel_source("01_mainloop", "tiled")`."""
    found = kernels(notebook)
    if kernel_name not in found:
        raise ValueError(f"{notebook} has no kernel {kernel_name!r}; it has {', '.join(found) or 'none'}")
    return found[kernel_name]


@dataclass(frozen=True, repr=False)
class Diff:
    """A unified text diff; lines begin with `+`, `-`, a space, or `@@`."""

    lines: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.lines) or "no difference"

    def _repr_html_(self) -> str:
        # Half-transparent shades suit a light and a dark theme; the marks do without colour.
        shades = {"+": "rgba(0,158,115,.22)", "-": "rgba(213,94,0,.22)", "@": "rgba(128,128,128,.18)"}
        row = '<span style="display:block;background:{}">{}</span>'
        rows = (
            row.format(shades.get(line[:1], "none"), html.escape(line)) for line in repr(self).split("\n")
        )
        return f'<pre style="line-height:1.35">{"".join(rows)}</pre>'


def show_diff(a: object, b: object) -> Diff:
    """What changed from kernel `a` to kernel `b`; each is CUDA source or a `cp.RawKernel`."""
    before, after = (getattr(side, "code", side).strip("\n").splitlines() for side in (a, b))
    return Diff(tuple(difflib.unified_diff(before, after, lineterm=""))[2:])


def _assigned_string(source: str, tag: str) -> str:
    """The string of the cell's one assignment `name = r'''...'''`; nothing of the cell is executed."""
    assigned = [node.value for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    if len(assigned) == 1:
        try:
            value = ast.literal_eval(assigned[0])
        except ValueError:
            value = None
        if isinstance(value, str):
            return value
    raise ValueError(f"the cell tagged {tag!r} must hold one assignment of one plain string")
