"""What a lesson's notebook must be before it is committed, read from the file without running it.

nbval compares only what was committed: a notebook without outputs passes it and checks nothing, and so does a cell
whose first line is an unknown magic. These rules close such gaps. Each one is tried here on a notebook that breaks
it, and only it.
"""

import ast
import copy
import json
import re

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from course_lib.lessons import sources
from ptxsim.races.hazards import KINDS
from tests.lessons.reading import cells_of, prose, tags_of, text_of
from tests.rules import ABSOLUTE

NOTEBOOKS = sources.notebooks(sources.NOTEBOOKS)
DEEPER = sources.deeper_notebooks(sources.NOTEBOOKS)
BANK = sources.exercise_notebooks(sources.NOTEBOOKS)
TAGS = {
    "kernel",
    "part",
    "nbval-ignore-output",
    "raises-exception",
    "exercise",
    "solution",
    "predict",
    "optional",
    "hide-input",
    "evening",
}
MAGICS = {"time", "timeit", "pip"}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KINDS_OF_EXERCISES = {
    "predict",
    "fill the gap",
    "find the mistake",
    "make it faster",
    "read the report",
    "read the machine code",
}
EXERCISE = re.compile(r"^## Exercise (\d\d\.\d\d) · ★{1,3} · ([a-z ]+): \S", re.MULTILINE)
CHECK = re.compile(r"\.check\(|\bcheck_exercise\(")
LARGEST, LARGEST_OF_BANK = 700_000, 60_000  # bytes
PICTURES = ("image/png", "image/svg+xml", "image/jpeg")
UNSTABLE = re.compile(
    r"\d\s*(?:ns|us|µs|ms|s|sec|seconds|TFLOP/s|GFLOP/s|GB/s|TB/s|MHz)\b|\b(?:registers|cycles|instructions)\b"
)
"""Times, rates, and counts that move with the version of NVRTC."""
MEASURES = re.compile(
    r"\b(?:benchmark|timeline|profile|bubbles|full_units|timed|show_env|tune)\(|\.(?:plot|roofline|gain|us)\(|\.of_peer\b"
)
MACHINE_CODE = re.compile(r"\bsass\(|\bpicture\(|\bchecklist\(|\bncu\(")  # other on another compiler
"""What may be ignored although nothing was measured yet: it shows something else where there is a record."""
RAW = re.compile(r'\br"""')
FORMULA = re.compile(r"\$\$|\\\(|\\\[|\\begin\{|\$[^$\n]*\\[a-z]+[^$\n]*\$")


def text_outputs(cell: dict) -> str:
    """What nbval compares of a cell: printed text and the text form of values."""
    parts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"]]
    return "\n".join("".join(part) for part in parts)


def data_of(cell: dict) -> list[dict]:
    return [output["data"] for output in cell["outputs"] if "data" in output]


def shell_and_magics(source: str) -> tuple[bool, set[str]]:
    """Whether a cell calls a shell, and the magics it uses."""
    shell, magics = False, set()
    for node in ast.walk(ast.parse(TransformerManager().transform_cell(source))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if ast.unparse(node.func.value) == "get_ipython()":
            shell |= node.func.attr in ("system", "getoutput")
            if node.func.attr in ("run_line_magic", "run_cell_magic"):
                magics.add(ast.literal_eval(node.args[0]))
    return shell, magics


def mute_asserts(source: str) -> list[str]:
    tree = ast.parse(TransformerManager().transform_cell(source))
    return [
        ast.unparse(each.test) for each in ast.walk(tree) if isinstance(each, ast.Assert) and not each.msg
    ]


def order_problems(notebook: dict) -> list[str]:
    """No cell is empty, and none says when it ran: that it did is seen by what it shows."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = [f"cell {number} is empty" for number, cell in enumerate(cells, 1) if not text_of(cell).strip()]
    counts = [cell["execution_count"] for cell in cells]
    counts += [output.get("execution_count") for cell in cells for output in cell.get("outputs", ())]
    if any(count is not None for count in counts):
        found.append("carries execution counts: run `make outputs`")
    return found


def source_problems(cell: dict) -> list[str]:
    """No shell, no magic that nbval would silently skip, no path of one machine, tags from the list. CUDA begins in
    line 1, so that the lines of a report are the lines of the cell."""
    source, tags = text_of(cell), tags_of(cell)
    shell, magics = shell_and_magics(source)
    found = ["calls a shell (a failing command passes): use subprocess.run(..., check=True)"] if shell else []
    found += [f"unknown magic %{name}" for name in sorted(magics - MAGICS)]
    found += ["steers nbval by a comment: use a tag"] if re.search(r"#\s*(?:NBVAL|PYTEST)_", source) else []
    if re.search(r"\.rows\[:?-", source):
        found.append("counts rows from the end, where each run has its cuBLAS: take .kernels")
    if re.search(r"[-+*/] *\w+\.share\(", source):
        found.append("computes with a share, which is None where a GPU's timeline has left its marks out")
    found += [f"assert {says_nothing} says nothing where it fails" for says_nothing in mute_asserts(source)]
    names = [tag.removeprefix("kernel:") for tag in tags if tag.startswith("kernel:")]
    found += [
        f"tag {tag!r} is not in the list"
        for tag in tags
        if tag not in TAGS and not tag.startswith(("kernel:", "figure:"))
    ]
    raw = [source[: match.start()].count("\n") for match in RAW.finditer(source)]
    found += ["has CUDA in a string that does not begin in line 1"] if any(raw) else []
    found += ["tags kernel and kernel:<name> go together"] if (len(names) == 1) != ("kernel" in tags) else []
    found += [
        f"tag kernel:{name}, and no such kernel here"
        for name in names
        if not re.search(rf"\b{name}\s*\(", source)
    ]
    return found


def output_problems(cell: dict) -> list[str]:
    """Text that is compared holds still; pictures have a text; checks show their verdict; errors are meant."""
    source, tags, text = text_of(cell), tags_of(cell), text_outputs(cell)
    ignored, raises = "nbval-ignore-output" in tags, "raises-exception" in tags
    pictures = [data for data in data_of(cell) if any(kind in data for kind in PICTURES)]
    errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
    found = ["has an error in its output"] if errors and not raises else []
    found += ["is tagged raises-exception and raised nothing"] if raises and not errors else []
    for data in pictures:
        words = "".join(data.get("text/plain", ""))
        if not words or re.match(r"<Figure|Figure size|<IPython|<matplotlib", words):
            found.append("shows a picture without a text that says what is on it")
    if any(output.get("name") == "stderr" for output in cell["outputs"]):
        found.append("prints to stderr: nbval compares warnings too")
    html = any("text/html" in data for data in data_of(cell))
    moving = UNSTABLE.search(text)
    if moving and not ignored:
        found.append(f"prints what differs from run to run ({moving[0]!r}): tag it nbval-ignore-output")
    if ignored and not (moving or pictures or html or MEASURES.search(source) or MACHINE_CODE.search(source)):
        found.append("is ignored, but has neither a picture nor a measurement")
    if CHECK.search(source):
        found += ["holds a check and is ignored"] if ignored else []
        found += ["holds a check and shows no verdict"] if not (text.strip() or errors) else []
    if re.search(r" at 0x[0-9a-f]{6,}", text) and not ignored:
        found.append("prints an address in memory")
    return found


def markdown_problems(text: str) -> list[str]:
    """Alt text on images; no formulas, because the pages of `make course` work without a network."""
    found = (
        ["has an image without alt text"]
        if re.search(r"!\[\s*\]\(|<img(?![^>]*\balt=\"[^\"]+\")", text)
        else []
    )
    return found + (["has a formula in TeX: write it as plain text"] if FORMULA.search(text) else [])


def problems(notebook: dict, size: int, largest: int = LARGEST) -> list[str]:
    """Everything that is wrong with a notebook, one line each."""
    found = [f"{size} bytes, allowed are {largest}"] if size > largest else []
    if notebook["metadata"].get("kernelspec") != KERNEL:
        found.append(f"its kernelspec must be {KERNEL}, as Lab writes it, or it is unsaved when it opens")
    found += order_problems(notebook)
    if not any(CHECK.search(text_of(cell)) for cell in notebook["cells"] if cell["cell_type"] == "code"):
        found.append("holds no check")
    for number, cell in enumerate(notebook["cells"], 1):
        here = source_problems(cell) + output_problems(cell) if cell["cell_type"] == "code" else []
        here += markdown_problems(text_of(cell)) if cell["cell_type"] == "markdown" else []
        path = ABSOLUTE.search(json.dumps([cell["source"], cell.get("outputs", [])], ensure_ascii=False))
        here += [f"names a path of one machine: {path[0]}"] if path else []
        found += [f"cell {number} {problem}" for problem in here]
    return found


def early_imports(source: str) -> list[str]:
    """The imports of `cp` in front of `only_on`, which changes what `cp` is on other GPUs."""
    before, called, _ = source.partition("only_on(")
    imports = re.findall(r"^from course_lib import (?:\([^)]*\)|.*)", before, re.MULTILINE) if called else []
    return [each for each in imports if re.search(r"\bcp\b", each)]


@pytest.mark.parametrize("path", [*NOTEBOOKS, *DEEPER, *BANK], ids=lambda path: path.stem)
def test_cp_is_imported_behind_only_on(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [
        found for cell in cells if cell["cell_type"] == "code" for found in early_imports(text_of(cell))
    ] == []


def test_an_early_import_is_found():
    early = ["from course_lib import cp, only_on\n", "from course_lib import (HOPPER,\n    cp)\n"]
    assert [len(early_imports(f'{each}only_on("9.0")')) for each in early] == [1, 1]
    assert early_imports(f'from course_lib import only_on\nonly_on("9.0")\n{early[0]}') == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    text = path.read_text(encoding="utf-8")
    assert problems(json.loads(text), len(text.encode())) == []


@pytest.mark.parametrize("path", BANK, ids=lambda path: path.stem)
def test_notebook_of_exercises(path):
    text = path.read_text(encoding="utf-8")
    assert problems(json.loads(text), len(text.encode()), LARGEST_OF_BANK) == []


@pytest.mark.parametrize(
    "path", [*NOTEBOOKS, *DEEPER, *BANK], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_picture_has_words(path):
    outputs = [output for cell in cells_of(path) for output in cell.get("outputs", ())]
    pictures = [(form, output) for output in outputs for form in PICTURES if form in output.get("data", ())]
    assert all(output["metadata"].get(form, {}).get("alt") for form, output in pictures)


MORE = {3: "Three", 4: "Four", 5: "Five", 6: "Six"}


@pytest.mark.parametrize("path", BANK, ids=lambda path: path.stem)
def test_exercises_say_first_what_they_need_and_take(path):
    cells, lesson = cells_of(path), path.stem[:2]
    first, *_ = texts = [text_of(cell) for cell in cells if cell["cell_type"] == "markdown"]
    headings = [found for text in texts for found in EXERCISE.findall(text)]
    numbers = [number for number, _ in headings]
    asked = [cell for cell in cells if "exercise" in tags_of(cell)]
    assert len(headings) == len(asked), (
        f"{len(asked)} exercises, and headings of {numbers}. One is `## Exercise {lesson}.11 · ★ · predict: what "
        f"comes`, of one of these kinds: {', '.join(sorted(KINDS_OF_EXERCISES))}"
    )
    assert numbers == [f"{lesson}.{number}" for number in range(11, 11 + len(numbers))] and len(numbers) >= 3
    assert {kind for _, kind in headings} <= KINDS_OF_EXERCISES
    minutes = sum(cell["metadata"].get("minutes", 8) for cell in asked)
    assert f"{len(numbers)} exercises, about {minutes} minutes" in first
    assert re.search(rf"\*\*Needs\*\* \[{lesson} · [^]]+\]\(\.\./{path.name}\).*sitting", first)
    link = f"[{MORE[len(numbers)]} more](exercises/{path.name}), about {minutes} minutes: "
    assert link in (path.parents[1] / path.name).read_text(encoding="utf-8")
    folds = [fold for text in texts for fold in re.findall(r"<summary>(.*?)</summary>", text)]
    assert folds == ["Hint", "Solution"] * len(numbers)
    texts_of_exercises = "".join(text_of(cell) for cell in cells if "exercise" in tags_of(cell))
    assert re.findall(r'check_exercise\("([\d.]+)"', texts_of_exercises) == numbers


def test_the_bank_has_exercises_of_all_kinds():
    texts = "\n".join(map(prose, BANK))
    assert not BANK or {kind for _, kind in EXERCISE.findall(texts)} == KINDS_OF_EXERCISES


def test_the_lessons_are_there():
    assert {"00_start_here", "01_mainloop"} <= {path.stem for path in NOTEBOOKS}


# --- the rules themselves ---------------------------------------------------------------------------------


def code(source: str, *outputs: dict, tags: tuple[str, ...] = ()) -> dict:
    return {
        "cell_type": "code",
        "source": source,
        "execution_count": None,
        "metadata": {"tags": list(tags)},
        "outputs": list(outputs),
    }


def printed(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data: str) -> dict:
    return {
        "output_type": "display_data",
        "data": {kind.replace("_", "/"): text for kind, text in data.items()},
    }


def good() -> dict:
    """A small notebook with nothing wrong."""
    kernel = 'tiled = r"""\n__global__ void tiled(float* C) { if (!C) return; }\n"""'
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Lesson\n\n![Tiles of C](tiles.svg) costs $5"},
        code(kernel, tags=("kernel", "kernel:tiled")),
        code("gemm.check(kernel)", printed("check passed: tiled, 12 cases\n")),
        code("results", printed("7.1 ms, 3 registers\n"), tags=("nbval-ignore-output",)),
        code("results.plot()", shown(image_png="iVBO", text_plain="Bars: tiled 3.1 TFLOP/s"),
             tags=("nbval-ignore-output",)),
        code("1 / 0", {"output_type": "error", "ename": "E", "evalue": "", "traceback": []},
             tags=("raises-exception",)),
    ]  # fmt: skip
    return {
        "cells": cells,
        "metadata": {"kernelspec": dict(KERNEL)},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def test_a_page_names_every_kind_of_hazard_and_those_that_end_a_launch():
    page = "deeper/00_hazards"
    (table,) = (text for text in map(text_of, cells_of(page)) if "| kind |" in text)
    named = set(re.findall(r"`([a-z0-9-]+)`(\*?)", table))
    wanted = {(kind.name, "*" * kind.fatal) for kind in KINDS}
    assert not wanted ^ named, (
        f"the table of kinds in notebooks/{page}.ipynb, where a star says that the launch ends, "
        f"lacks {sorted(wanted - named)} and has {sorted(named - wanted)} too many"
    )


def test_a_good_notebook_passes():
    assert problems(good(), 1000) == []


ELSEWHERE = "/" + "home/me/kernel.cu"  # in two pieces, because no file may hold such a path
MISTAKES = {
    "carries execution counts": lambda n: n["cells"][2].update(execution_count=7),
    "execution counts: run `make outputs`": lambda n: n["cells"][2]["outputs"][0].update(execution_count=3),
    "is empty": lambda n: n["cells"].append(code("  ")),
    "calls a shell": lambda n: n["cells"][1].update(source=n["cells"][1]["source"] + "\n!ls"),
    "calls a shell (": lambda n: n["cells"][1].update(source=n["cells"][1]["source"] + "\nfiles = !ls"),
    "unknown magic %x": lambda n: n["cells"][2].update(source="%%x\ngemm.check(kernel)"),
    "unknown magic %matplotlib": lambda n: n["cells"][2].update(source="%matplotlib inline\ngemm.check(kernel)"),
    "counts rows from the end": lambda n: n["cells"][2].update(source="gemm.check(kernel)\nresults.rows[:-1]"),
    "computes with a share": lambda n: n["cells"][2].update(source="gemm.check(kernel)\n1 / drawn.share('math')"),
    "says nothing where it fails": lambda n: n["cells"][2].update(source="gemm.check(kernel)\nassert 1 == 1"),
    "steers nbval by a comment": lambda n: n["cells"][2].update(source="# NBVAL_SKIP\ngemm.check(kernel)"),
    "tag 'slow' is not in the list": lambda n: n["cells"][2]["metadata"].update(tags=["slow"]),
    "go together": lambda n: n["cells"][1]["metadata"].update(tags=["kernel"]),
    "no such kernel": lambda n: n["cells"][1]["metadata"].update(tags=["kernel", "kernel:tile"]),
    "has an error": lambda n: n["cells"][5]["metadata"].update(tags=[]),
    "raised nothing": lambda n: n["cells"][5].update(outputs=[]),
    "without a text": lambda n: n["cells"][4].update(outputs=[shown(image_png="i", text_plain="<Figure size 6x4>")]),
    "without a text that": lambda n: n["cells"][4].update(outputs=[shown(image_png="i")]),
    "to stderr": lambda n: n["cells"][3]["outputs"].append(printed("Warning", "stderr")),
    "differs from run to run ('1 ms')": lambda n: n["cells"][3]["metadata"].update(tags=[]),
    "('registers')": lambda n: n["cells"][2].update(outputs=[printed("check passed: 40 registers")]),
    "neither a picture nor": lambda n: n["cells"][3].update(outputs=[printed("same everywhere")]),
    "check and is ignored": lambda n: n["cells"][4].update(source="gemm.check(kernel)"),
    "shows no verdict": lambda n: n["cells"].append(code("check_exercise('01.1', x)")),
    "holds no check": lambda n: n["cells"][2].update(source="gemm"),
    "address in memory": lambda n: n["cells"].append(code("x", printed("<X at 0x7f00aa11bb22>"))),
    "without alt text": lambda n: n["cells"][0].update(source="![](tiles.svg)"),
    "image without alt": lambda n: n["cells"][0].update(source='<img src="tiles.svg">'),
    "formula in TeX": lambda n: n["cells"][0].update(source=r"$\frac{1}{2}$"),
    "path of one machine": lambda n: n["cells"][2].update(source=f"gemm.check(open('{ELSEWHERE}'))"),
    "machine: ": lambda n: n["cells"][2].update(outputs=[printed(f"check passed: {ELSEWHERE}")]),
    "its kernelspec": lambda n: n["metadata"]["kernelspec"].update(name="course"),
    "as Lab writes it": lambda n: n["metadata"]["kernelspec"].update(display_name="Python 3"),
    "begin in line 1": lambda n: n["cells"][1].update(source="# C\n" + n["cells"][1]["source"]),
}  # fmt: skip


@pytest.mark.parametrize("message", MISTAKES)
def test_each_mistake_is_found_alone(message):
    notebook = copy.deepcopy(good())
    MISTAKES[message](notebook)
    (found,) = problems(notebook, 1000)
    assert message in found


def test_a_large_file_is_found():
    (found,) = problems(good(), LARGEST + 1)
    assert "bytes" in found
