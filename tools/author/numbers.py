"""Measured numbers in a lesson's prose: each is bound to what a cell of the lesson prints.

A Markdown cell's metadata says where each of its numbers comes from:

    "numbers": {"1,088": "shown('parts', 'load {}')",
                "1.81": "(shown('parts', 'load {}') + shown('parts', 'math {}')) / shown('parts', 'math {}')",
                "34": "min(shown('times', f'K = {K}: … {{}} us') for K in (128, 512))",
                "66.9": "source: NVIDIA H100 data sheet",
                "128": "design: FMA units of an SM"}

`shown(cell, pattern)` reads the number at {} in what the cell with this id prints, or in the words beside a picture;
'deeper/02_late_math c032s' is a cell of another notebook;
white space fits any white space, and … anything within a line. `python -m tools.author.numbers` writes into the prose
what the cells print now; `make record` calls it.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

from course_lib.lessons import sources

NUMBER = r"\d[\d,]*(?:\.\d+)?"
UNIT = r"(?:TFLOP/s|GFLOP/s|[GT]B/s|FLOP|ms|us|µs|ns|s|microseconds|seconds?|cycles?|%|percent|times|x)"
MEASURED = re.compile(rf"(?<![\w.,^])({NUMBER})(?:\s|&nbsp;)*{UNIT}(?![\w/]|\s*\d)")
"""A number with a unit of speed, time, cycles or share. "4 x 4" is none."""
NOT_PROSE = re.compile(r"```.*?```|`[^`]*`|<details>.*?</details>|\]\([^)]*\)", re.DOTALL)
MARKED = ("source: ", "design: ")
Names = dict[str, Callable[..., float]]
FUNCTIONS = {"round": round, "min": min, "max": max, "abs": abs, "sum": sum}


class NotBound(ValueError):
    """A number has no value: the message says which, and why."""


def shown(cells: list[dict], cell_id: str, pattern: str) -> float:
    """The number at {} in what a cell shows. Raises NotBound where it is not there."""
    other, _, own_id = cell_id.rpartition(" ")
    if other:
        cells = _cells_of(other)
    cell = next((cell for cell in cells if cell.get("id") == own_id), None)
    if cell is None:
        raise NotBound(f"there is no cell with the id {cell_id!r}")
    return number_in(text_shown(cell), pattern, f"cell {cell_id!r}")


def number_in(text: str, pattern: str, where: str) -> float:
    """The number at {} of the pattern in a text. Raises NotBound, with where that is."""
    words = re.split(r"\s+", pattern.strip())
    look = r"\s+".join(
        re.escape(word).replace(r"\{\}", f"({NUMBER})").replace("…", r"[^\n]*?") for word in words
    )
    found = re.search(rf"(?<![\w.,]){look}(?![\w]|[.,]\d)" if pattern.startswith("{}") else look, text)
    if not found:
        raise NotBound(f"{where} shows no {pattern!r}")
    return float(found[1].replace(",", ""))


def _cells_of(name: str) -> list[dict]:
    """The cells of a notebook such as "deeper/02_late_math"."""
    path = sources.NOTEBOOKS / f"{name}.ipynb"
    if not path.is_file():
        raise NotBound(f"there is no notebook {name!r}")
    return sources.cells_of(path)


def text_shown(cell: dict) -> str:
    """What a cell printed, and the words beside its pictures."""
    parts = []
    for output in cell.get("outputs", ()):
        parts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
        parts += [
            words.get("alt", "") for words in output.get("metadata", {}).values() if isinstance(words, dict)
        ]
    return "\n".join("".join(part) for part in parts)


def values(cells: list[dict], cell: dict, more: Names | None = None) -> dict[str, float]:
    """Each bound number of a Markdown cell, as it stands there, and what it should be; `more` functions that its
    sources may call. Raises NotBound."""
    found = {}
    for number, source in cell["metadata"].get("numbers", {}).items():
        if source.startswith(MARKED):
            continue
        names = FUNCTIONS | {"shown": lambda of, pattern: shown(cells, of, pattern)} | (more or {})
        try:
            found[number] = float(eval(source, {"__builtins__": {}} | names))
        except NotBound as error:
            raise NotBound(f"{number}: {error}") from None
        except Exception as error:
            raise NotBound(f"{number}: {source!r} cannot be calculated: {error}") from None
    return found


def written_as(number: str, value: float) -> str:
    """The value with as many digits behind the point as the number has, and a comma before thousands."""
    return f"{value:,.{len(number.partition('.')[2])}f}"


def unbound(cells: list[dict]) -> list[str]:
    """The measured numbers of a notebook's prose that are bound to nothing."""
    return [
        f"{match[0]} in {cell['id']}: bound to nothing"
        for cell in markdown(cells)
        for match in MEASURED.finditer(NOT_PROSE.sub(" ", "".join(cell["source"])))
        if match[1] not in cell["metadata"].get("numbers", {})
    ]


def wrong(cells: list[dict], more: Names | None = None) -> list[str]:
    """What is bound to something else than it says, or bound and not there."""
    found = []
    for cell in markdown(cells):
        text, own = "".join(cell["source"]), cell["metadata"].get("numbers", {})
        found += [f"{number} in {cell['id']}: not in the text" for number in own
                  if not re.search(rf"(?<![\w.,]){re.escape(number)}(?![\w]|[.,]\d)", text)]  # fmt: skip
        try:
            found += [
                f"{number} in {cell['id']}: it is {written_as(number, value)}"
                for number, value in values(cells, cell, more).items()
                if written_as(number, value).replace(",", "") != number.replace(",", "")
            ]
        except NotBound as error:
            found.append(f"in {cell['id']}: {error}")
    return found


def markdown(cells: list[dict]) -> list[dict]:
    return [cell for cell in cells if cell["cell_type"] == "markdown"]


def rewrite(path: Path) -> int:
    """Write into a notebook's prose what its cells show now; return how many numbers changed."""
    notebook, changed = json.loads(path.read_text(encoding="utf-8")), 0
    for cell in markdown(notebook["cells"]):
        text, own, new = "".join(cell["source"]), cell["metadata"].get("numbers", {}), {}
        for number, value in values(notebook["cells"], cell).items() if own else ():
            now = written_as(number, value)
            if now.replace(",", "") != number.replace(",", ""):
                text = re.sub(rf"(?<![\w.,]){re.escape(number)}(?![\w]|[.,]\d)", now, text)
                new[number] = now
        if new:
            changed += len(new)
            cell["source"] = text.splitlines(keepends=True)
            cell["metadata"]["numbers"] = {new.get(number, number): source for number, source in own.items()}
    if changed:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return changed


def main() -> None:
    for path in sources.every_notebook(sources.NOTEBOOKS):
        if changed := rewrite(path):
            print(f"{path.name}: {changed} numbers")


if __name__ == "__main__":
    main()
