"""Kernels and their launches, read out of the notebooks, which are their only home; differences between kernels."""

import ast
import difflib
import html
import operator
import re
from pathlib import Path
from typing import Any

from cupy_or_sim import device
from cupy_or_sim.headers import in_one_piece
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from ptxsim.ground import foreign

from .folders import place

NOTEBOOKS = place("notebooks")
_LESSON = re.compile(r"[0-9]{2}_[A-Za-z0-9_]+\.ipynb")
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def notebooks(folder: Path) -> list[Path]:
    """The lessons in a folder, in order: `NN_name.ipynb`. Any other notebook there is a learner's own."""
    return sorted(path for path in folder.glob("*.ipynb") if _LESSON.fullmatch(path.name))


def deeper_notebooks(folder: Path) -> list[Path]:
    """What is optional, in order: `deeper/NN_subject.ipynb`, each with a name that no lesson has."""
    return notebooks(folder / "deeper")


def exercise_notebooks(folder: Path) -> list[Path]:
    """More exercises for the lessons in a folder, in order: `exercises/NN_name.ipynb`, named as the lesson."""
    return notebooks(folder / "exercises")


def with_kernels(folder: Path) -> list[Path]:
    """The notebooks that are the home of kernels: each lesson, and behind it what goes deeper there."""
    return sorted(
        notebooks(folder) + deeper_notebooks(folder), key=lambda path: (path.stem[:2], path.parent != folder)
    )


def every_notebook(folder: Path) -> list[Path]:
    """Lessons, what goes deeper, and more exercises."""
    return with_kernels(folder) + exercise_notebooks(folder)


def kernels(notebook: str) -> dict[str, str]:
    """Kernel name -> CUDA source, in the notebook's order: from the cells with a tag `kernel:<name>`. A notebook has
    the name of its file; what goes deeper is found by that too: "03_fp32_best"."""
    return {name: source for name, (source, _) in _kernel_cells(notebook).items()}


def launches(notebook: str) -> dict[str, Launch]:
    """Kernel name -> the launch that stands under it, of those that have one: the GEMMs."""
    return {name: launch for name, (_, launch) in _kernel_cells(notebook).items() if launch is not None}


def kernel_source(notebook: str, kernel_name: str) -> str:
    """CUDA source of one kernel: `kernel_source("01_mainloop", "tiled")`."""
    return _kernel_cell(notebook, kernel_name)[0]


def kernel_launch(notebook: str, kernel_name: str) -> Launch:
    """The launch that stands under a kernel, as `Gemm` takes it."""
    launch = _kernel_cell(notebook, kernel_name)[1]
    if launch is None:
        known = ", ".join(launches(notebook)) or "none"
        raise ValueError(f"{notebook} has no {kernel_name}_launch; kernels with a launch: {known}")
    return launch


def lesson_kernel(notebook: str, kernel_name: str) -> tuple[Kernel, Launch]:
    """A kernel that a lesson shows, and its launch: `kernel, launch = lesson_kernel("01_mainloop", "tiled")`."""
    launch = kernel_launch(notebook, kernel_name)
    source = kernel_source(notebook, kernel_name)
    return device.cp.RawKernel(source, kernel_name, options=device.options_for(source)), launch


def body(source: str) -> str:
    """A kernel without what stands above it, and without its marks of a timeline: for `show_diff`."""
    marks = r"^ *TRACE_\w+\([^)]*\);\n| *TRACE_END\([^)]*\);|TRACE_BEGIN\([^)]*\); *"
    return re.sub(marks, "", source[source.index('extern "C"') :], flags=re.MULTILINE)


def edited(source: str, *changes: tuple[str, str]) -> str:
    """The source with each (text, new text) replaced, everywhere. Raises ValueError when a text is not there."""
    for old, new in changes:
        if old not in source:
            near = difflib.get_close_matches(old.strip(), [line.strip() for line in source.splitlines()], 1)
            raise ValueError(f"the kernel has no {old!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
        source = source.replace(old, new)
    return source


def show_diff(a: object, b: object, indents: bool = True) -> "Diff":
    """What changed from kernel `a` to kernel `b`; each is CUDA source or a `cp.RawKernel`. Without `indents` a line
    that only moved to the right or left is no change, and stands as in `b`."""
    before, after = (str(getattr(side, "code", side)).strip("\n").splitlines() for side in (a, b))
    if not indents:
        before = _indented_as(after, before)
    return Diff("\n".join([*difflib.unified_diff(before, after, lineterm="")][2:]) or "no difference")


def _indented_as(after: list[str], before: list[str]) -> list[str]:
    """The lines before, those that differ by their indentation alone as they are after."""
    old, new = ([line.strip() for line in lines] for lines in (before, after))
    found = list(before)
    for match in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        found[match.a : match.a + match.size] = after[match.b : match.b + match.size]
    return found


class Diff(str):
    """A unified text diff; lines begin with `+`, `-`, a space, or `@@`."""

    __repr__ = str.__str__

    def _repr_html_(self) -> str:
        # Half-transparent shades suit a light and a dark theme; the marks do without colour.
        shades = {"+": "rgba(0,158,115,.22)", "-": "rgba(213,94,0,.22)", "@": "rgba(128,128,128,.18)"}
        row = '<span style="display:block;background:{}">{}</span>'
        rows = (row.format(shades.get(line[:1], "none"), html.escape(line)) for line in self.split("\n"))
        return f'<pre style="line-height:1.35;font-family:monospace">{"".join(rows)}</pre>'


def _kernel_cell(notebook: str, kernel_name: str) -> tuple[str, Launch | None]:
    found = _kernel_cells(notebook)
    if kernel_name not in found:
        raise ValueError(f"{notebook} has no kernel {kernel_name!r}; it has {', '.join(found) or 'none'}")
    return found[kernel_name]


def _kernel_cells(notebook: str) -> dict[str, tuple[str, Launch | None]]:
    """Kernel name -> its CUDA source in one piece, and its launch or None; nothing of a cell is executed."""
    found: dict[str, tuple[str, Launch | None]] = {}
    for cell in _cells(notebook):
        tags, text = cell["metadata"].get("tags", ()), "".join(cell["source"])
        for tag in tags:
            if tag.startswith("kernel:"):
                source, launch = _assigned(text, tag, {name: source for name, (source, _) in found.items()})
                found[tag.removeprefix("kernel:")] = in_one_piece(source), launch
    return found


def _cells(notebook: str) -> list[dict]:
    name = f"{notebook.removesuffix('.ipynb')}.ipynb"
    path = next((path for folder in ("", "deeper") if (path := NOTEBOOKS / folder / name).is_file()), None)
    if path is None:
        known = ", ".join(p.stem for p in with_kernels(NOTEBOOKS)) or "none found"
        raise ValueError(f"there is no notebook {notebook!r}; notebooks: {known}")
    return cells_of(path)


def cells_of(notebook: Path) -> list[dict]:
    """The cells of a notebook, as its file has them."""
    return foreign.json_of(foreign.text_of(notebook))["cells"]


def _assigned(source: str, tag: str, earlier: dict[str, str]) -> tuple[str, Launch | None]:
    """The text in a kernel's cell, which may be an `earlier` one `edited`, and its launch below, `<name>_launch`."""
    name = tag.removeprefix("kernel:")
    values = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    text = _text(values[0].value, earlier) if values else None
    below = [ast.unparse(node.targets[0]) for node in values[1:]]
    if text is None or below not in ([], [f"{name}_launch"]):
        raise ValueError(
            f"the cell tagged {tag!r} must hold one assignment of one plain string, or of edited(...) of an earlier "
            f"kernel with plain strings, and below it at most {name}_launch = Launch(tile=..., threads=...)"
        )
    return text, _read_launch(values[1], name) if below else None


def _text(value: ast.expr, earlier: dict[str, str]) -> str | None:
    """A plain string, or an earlier kernel with plain changes, `edited(name, (text, new text))`; None for all else."""
    match value:
        case ast.Constant(value=str(text)):
            return text
        case ast.Call(func=ast.Name(id="edited"), args=[ast.Name(id=name), *given]) if name in earlier:
            try:
                changes = [ast.literal_eval(each) for each in given]
            except ValueError:
                return None
            return edited(earlier[name], *changes)
    return None


def _read_launch(assignment: ast.Assign, name: str) -> Launch:
    call = assignment.value
    try:
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Launch"):
            raise ValueError(ast.unparse(call))
        if call.args or not all(keyword.arg for keyword in call.keywords):
            raise ValueError(ast.unparse(call))
        given: dict[str, Any] = {str(keyword.arg): _numbers(keyword.value) for keyword in call.keywords}
        return Launch(**given)
    except (TypeError, ValueError) as wrong:
        raise ValueError(
            f"the cell tagged 'kernel:{name}': {name}_launch must be Launch(tile=..., threads=...) of plain numbers, "
            f"and {wrong} is something else"
        ) from None


def _numbers(node: ast.expr) -> int | tuple[int, ...]:
    return tuple(map(_number, node.elts)) if isinstance(node, ast.Tuple) else _number(node)


def _number(node: ast.expr) -> int:
    """The value of a whole number, or of sums and products of such."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_number(node.left), _number(node.right))
    raise ValueError(ast.unparse(node))
