"""The record of the lessons' kernels is current; `make record`; the README's table and picture."""

import ast
import importlib.util
import json

import nbclient
import nbformat
import pytest

from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.timelines.events import to_rows
from cupy_or_sim import device, keys, style, timing
from tests.course_lib.timelines.test_timeline import a_part
from tests.rules import ROOT
from tests.sample import in_long


def tool(name):
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / "author" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code_of(path):
    notebook = nbformat.read(path, as_version=4)
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


PART_OF = {"benchmark": "speeds", "timeline": "timelines", "profile": "profiles", "bubbles": "samples"}
"""What a notebook calls: the part of the record that it is shown from."""


def measured_kernels(code):
    """{(part of the record, variable or (notebook, kernel) that holds the source, kernel name)}

    Follows `kernel = cp.RawKernel(source, "name", ...)` to `benchmark(... kernel ...)` and `timeline(kernel)`;
    also `kernel, launch = lesson_kernel("notebook", "name")`, which may stand in the call itself.
    """
    made, used = {}, set()

    def shown(call):
        """What `lesson_kernel("notebook", "name")` is; None where a call is something else."""
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "lesson_kernel":
            where = tuple(argument.value for argument in call.args)
            return where, where[1]
        return None

    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign) and shown(node.value):
            target = node.targets[0]
            made[target.elts[0].id if isinstance(target, ast.Tuple) else target.id] = shown(node.value)
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Name)
        ):
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "RawKernel":
                source, name = call.args[:2]
                where = source.id if isinstance(source, ast.Name) else None
                if isinstance(source, ast.Call) and getattr(source.func, "id", "") == "kernel_source":
                    where = tuple(argument.value for argument in source.args)
                if isinstance(name, ast.Constant):  # in a function of the lesson it is an argument
                    made[node.targets[0].id] = (where, name.value)
    for node in ast.walk(ast.parse(code)):
        part = PART_OF.get(getattr(getattr(node, "func", 0), "id", ""))
        if part and any(keyword.arg == "model" for keyword in node.keywords):
            continue  # a model needs no record
        names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} if part else ()
        used |= {(part, *made[name]) for name in names if name in made}
        used |= {(part, *shown(child)) for child in ast.walk(node) if part and shown(child)}
    return used


def missing(path, record):
    """The kernels that a notebook measures and the record does not hold as they stand now.

    Variants that a cell makes with `.replace` are left out here; they are found by what their cell printed.
    """
    own = sources.kernels(path.stem)
    found = []
    for part, where, name in measured_kernels(code_of(path)):
        source = sources.kernel_source(*where) if isinstance(where, tuple) else own.get(where)
        known = {entry.get("source") for entry in record.get(part, {}).values()}
        if source is not None and keys.source_key(name, source) not in known:
            found.append(f"{part}: {name}")
    return found


@pytest.mark.parametrize("path", sources.with_kernels(sources.NOTEBOOKS), ids=lambda path: path.stem)
def test_every_measured_kernel_has_a_current_record(path):
    if not measured_kernels(code_of(path)):
        return
    assert records.files(), "no file in assets/measurements/: run `make record` on a GPU machine"
    of_gpus = [json.loads(file.read_text(encoding="utf-8")) for file in records.files()]
    record = {
        part: {key: entry for one in of_gpus for key, entry in one[part].items()} for part in records.PARTS
    }
    assert not missing(path, record), "edited since the record: run `make record` on a GPU machine"
    assert "no record" not in json.dumps([cell.get("outputs") for cell in nbformat.read(path, 4).cells])


SOURCE = 'extern "C" __global__ void fast(float* C) { C[0] = 1; }'
AGAIN = [
    'again = cp.RawKernel(kernel_source("lesson", "fast"), "fast")\ntimeline(again, gemm).plot()',
    'again, launch = lesson_kernel("lesson", "fast")\ntimeline(again, gemm, launch).plot()',
    'again = lesson_kernel("lesson", "fast")\ntimeline(again[0], gemm, **again[1]).plot()',
    'timeline(lesson_kernel("lesson", "fast")[0], gemm).plot()',
]


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """A notebook with one kernel, and a function that makes the notebook again from another kernel text."""
    path = tmp_path / "lesson.ipynb"
    monkeypatch.setattr(sources, "NOTEBOOKS", tmp_path)

    def write(source=SOURCE, other=AGAIN[0]):
        cell = nbformat.v4.new_code_cell
        launch = "fast_launch = Launch(tile=(64, 64, 16), threads=256)"
        kernel = cell(f'fast = r"""{source}"""\n{launch}', metadata={"tags": ["kernel", "kernel:fast"]})
        uses = 'k = cp.RawKernel(fast, "fast", options=OPTIONS)\nresults = benchmark(gemm, {"fast": (k, Launch())})'
        nbformat.write(nbformat.v4.new_notebook(cells=[kernel, cell(uses), cell(other)]), path)
        return path

    write()
    return write


def test_an_edited_lesson_kernel_is_found(lesson):
    entry = {"source": keys.source_key("fast", SOURCE)}
    record = {"speeds": {"a": entry}, "timelines": {"a": entry}}
    assert missing(lesson(), record) == []
    assert missing(lesson(SOURCE.replace("{", "{  /* first */")), record) == []
    assert sorted(missing(lesson(SOURCE.replace("= 1", "= 2")), record)) == [
        "speeds: fast",
        "timelines: fast",
    ]
    for other in AGAIN:
        assert missing(lesson(other=other), {"speeds": {"a": entry}, "timelines": {}}) == ["timelines: fast"]


def test_record_refuses_without_a_gpu(monkeypatch, capsys):
    monkeypatch.setattr(device, "backend", lambda: "simulator")
    assert tool("record").main() == 2
    assert "measures on a GPU" in capsys.readouterr().err


@in_long
def test_record_replaces_the_old_file_only_when_all_ran(tmp_path, monkeypatch, capsys):
    record = tool("record")
    monkeypatch.setattr(record, "AFTERWARDS", ("after",))
    monkeypatch.setattr(record.sizes, "record", lambda: None)
    (tmp_path / "after.py").write_text("open('after.txt', 'a').write('ran')")
    folder = tmp_path / "assets" / "measurements"
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(timing, "name", lambda: "Some GPU")
    monkeypatch.setattr(records, "FOLDER", folder)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setenv("COURSE_RECORD", "")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "notebooks").mkdir()

    def notebook(code):
        content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        nbformat.write(content, tmp_path / "notebooks" / "01_one.ipynb")

    empty = {"provenance": {"gpu": "Some GPU"}, **{part: {} for part in records.PARTS}}
    notebook(
        "import os; from pathlib import Path; from course_lib.measure import records\n"
        f"records.write(Path(os.environ['COURSE_RECORD']), {empty})"
    )
    (tmp_path / "notebooks" / "scratch.ipynb").write_text("a learner's own, not to be read")
    assert record.main() == 0
    assert json.loads((folder / "some-gpu.json").read_text()) == empty
    assert (tmp_path / "after.txt").read_text() == "ran"
    (folder / "some-gpu.json").write_text("kept")
    notebook("raise ValueError('a check failed')")
    assert record.main() == 1
    assert (folder / "some-gpu.json").read_text() == "kept"
    assert "a check failed" in capsys.readouterr().out
    assert (tmp_path / "after.txt").read_text() == "ran"
    monkeypatch.setattr(record, "AFTERWARDS", ("gone.py",))
    assert record.afterwards() == 1
    assert "failed: gone.py" in capsys.readouterr().out


def test_record_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    record = tool("record")
    monkeypatch.setattr(record, "AFTERWARDS", ())
    monkeypatch.setattr(record.sizes, "record", lambda: None)
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(timing, "name", lambda: "Some GPU")
    monkeypatch.setattr(timing, "commit", lambda: commit)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setenv("COURSE_RECORD", "")
    (tmp_path / "notebooks").mkdir()
    for name in ("01_one", "02_two"):
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(name)
    ran, commit, breaks = [], "first", True

    def run(path):
        if breaks and path.stem == "02_two":
            raise nbclient.exceptions.CellTimeoutError("stopped")
        ran.append(path.stem)
        parts = {part: {} for part in records.PARTS}
        records.write(tmp_path / "build" / "record.json", {"provenance": {"gpu": "Some GPU"}, **parts})

    monkeypatch.setattr(record, "run", run)
    assert record.main() == 1 and ran == ["01_one"]
    assert "kept for the next call" in capsys.readouterr().out
    breaks = False
    assert record.main() == 0 and ran == ["01_one", "02_two"]
    assert "01_one.ipynb ... was recorded before" in capsys.readouterr().out
    assert record.main() == 0 and ran == ["01_one", "02_two"] * 2, "a finished record is made anew"
    breaks = True
    assert record.main() == 1
    commit, breaks = "second", False
    assert record.main() == 0 and ran[-2:] == ["01_one", "02_two"], "of another commit nothing is kept"


def a_speed(label, tflops, size=4096, **more):
    more = {"tile": [64, 64, 16], "threads": 256, "shared_mem": 0} | more
    entry = {"label": label, "shape": [size] * 3, "dtype": "float32", "layout": "NT", "tflops": tflops}
    return entry | {"peer_tflops": 50.0, "repeats": 20, "sm_clock_mhz": 1980, "date": "2026-11-21", **more}


def test_readme_table_and_picture(lesson, tmp_path, monkeypatch):
    figures = tool("figures")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    lesson().rename(tmp_path / "01_lesson.ipynb")
    (tmp_path / "assets").mkdir()
    readme, page = tmp_path / "README.md", tmp_path / "docs" / "measurements.md"
    page.parent.mkdir()
    for each in readme, page:
        each.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    monkeypatch.setattr(figures, "STEPS", {("01", "fast"): "a copy"})
    timeline = {
        "kernel": next(iter(figures.PICTURES)),
        "shape": figures.SHAPE,
        "dtype": "float32",
        "date": "2026-11-21", "shared_mem": 0, "turn": 1600, "turn_drawn": 1600, "shares": {}, "left_out": [],
        "disturbance": {"math.end": [0, 0.01]},
        "parts": {"steady": {"rows": to_rows(a_part().events), "length": a_part().length}},
    }  # fmt: skip
    source = keys.source_key("fast", SOURCE)
    speeds = [
        a_speed("any", 20.0, registers=40, source=source, sustained=18.4),
        a_speed("cuBLAS", 50.0),
        a_speed("unroll 1", 9.0),
    ]
    speeds += [
        a_speed("another launch", 30.0, source=source, shared_mem=60_000),
        a_speed("small", 45.0, 2048, source=source),
    ]
    provenance = {"gpu": "Some GPU", "driver": "580", "nvrtc": "13.0", "date": "2026-11-21"}
    provenance["max_sm_clock_mhz"] = 1980
    record = {"provenance": provenance, "timelines": {"t": timeline}}
    records.write(tmp_path / "some-gpu.json", record | {"speeds": dict(enumerate(speeds))})

    assert figures.main() == 0
    assert "| 01 | `fast` | a copy | 20.0 | 40% | 18 |" in readme.read_text().splitlines()
    lines = page.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and "old" not in lines
    table = [line for line in lines if line.startswith("|")][2:]
    assert table == [
        "| 01 | `fast` | 20.0 | 50.0 | 40% | 18 |",
        "|  | cuBLAS, float32 | 50.0 |  | 100% |  |",
    ]
    assert any("Some GPU, SM clock 1980 MHz at most, driver 580" in line for line in lines)
    svg = (tmp_path / "assets" / next(iter(figures.PICTURES.values()))).read_text()
    assert "recorded on Some GPU, 2026-11-21" in svg and len(svg) < 100_000
    figures.main()
    assert page.read_text().splitlines() == lines


def test_the_drawings_are_those_of_the_lessons(tmp_path):
    figures = tool("figures")
    assert set(figures.drawings()) >= {f"pipeline_{number}.svg" for number in ("02", "03", "05")}
    for name, (figure, alt) in figures.drawings().items():
        style.save_svg(figure, tmp_path / name, alt)
        kept = (ROOT / "assets" / name).read_text(encoding="utf-8")
        assert (tmp_path / name).read_text(encoding="utf-8") == kept, "run `python -m tools.author.figures`"
        assert alt in kept.replace("&lt;", "<") and len(kept) < 300_000
