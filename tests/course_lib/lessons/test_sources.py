"""Kernels are read from the notebooks without running them, and compared."""

import json
import re

import pytest

from course_lib import OPTIONS, Launch, edited, kernel_source, lesson_kernel, show_diff
from course_lib.lessons import sources
from cupy_or_sim import headers, keys

NAIVE = 'extern "C" __global__ void naive(float* C)\n{\n    C[0] = 1;\n}\n'


def cell(source: str, *tags: str) -> dict:
    lines = source.splitlines(keepends=True)
    return {"cell_type": "code", "metadata": {"tags": list(tags)} if tags else {}, "source": lines}


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """notebook(cells) writes lesson 01 into an empty folder of notebooks."""
    monkeypatch.setattr(sources, "NOTEBOOKS", tmp_path)

    def write(*cells):
        (tmp_path / "01_mainloop.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")

    return write


def test_kernels_come_in_the_order_of_the_notebook(notebook):
    notebook(
        cell("print('no kernel')"),
        cell(f'# the first\ntiled = r"""{NAIVE}"""', "kernel", "kernel:tiled"),
        cell(f'naive = r"""\n{NAIVE}"""', "kernel", "kernel:naive"),
    )
    assert list(sources.kernels("01_mainloop")) == ["tiled", "naive"]
    assert kernel_source("01_mainloop", "naive") == "\n" + NAIVE
    assert kernel_source("01_mainloop.ipynb", "tiled") == NAIVE


def test_a_kernel_holds_the_parts_that_it_includes_each_once(notebook, tmp_path, monkeypatch):
    include = tmp_path / "course" / "gemm"
    include.mkdir(parents=True)
    (include / "one.cuh").write_text("#pragma once\n#include <cuda_fp16.h>\nint one;\n", encoding="utf-8")
    two = "// two\n#pragma once\n#include <course/gemm/one.cuh>\nint two;\n"
    (include / "two.cuh").write_text(two, encoding="utf-8")
    monkeypatch.setattr(headers, "INCLUDE", tmp_path)
    both = "#include <course/gemm/two.cuh>\n#include <course/gemm/one.cuh>\n" + NAIVE
    notebook(cell(f'naive = r"""{both}"""\nnaive_launch = Launch(threads=1)', "kernel:naive"))
    piece = "// two\n#include <cuda_fp16.h>\nint one;\nint two;\n" + NAIVE
    assert headers.in_one_piece(both) == kernel_source("01_mainloop", "naive") == piece
    assert keys.source_key("naive", both) == keys.source_key("naive", piece)
    assert keys.source_key("naive", both) != keys.source_key("naive", NAIVE)
    assert sources.kernel_launch("01_mainloop", "naive") == Launch(threads=1)


def test_only_numbered_notebooks_are_lessons(tmp_path):
    names = ["02_b.ipynb", "01_a_2.ipynb"]
    others = ["scratch.ipynb", "1_a.ipynb", "01_a-Copy1.ipynb", "01.ipynb", "01_a.txt", "001_a.ipynb"]
    for name in names + others:
        (tmp_path / name).touch()
    assert [path.name for path in sources.notebooks(tmp_path)] == sorted(names)


def test_more_exercises_lie_in_a_folder_of_their_own(tmp_path):
    assert sources.exercise_notebooks(tmp_path) == []
    (tmp_path / "exercises").mkdir()
    for name in ("01_a.ipynb", "exercises/02_b.ipynb", "exercises/01_a.ipynb", "exercises/notes.ipynb"):
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in sources.exercise_notebooks(tmp_path)]
    assert found == ["exercises/01_a.ipynb", "exercises/02_b.ipynb"]
    assert [path.name for path in sources.notebooks(tmp_path)] == ["01_a.ipynb"]


def test_a_backslash_in_the_kernel_stays(notebook):
    notebook(cell('k = r"""printf("%d\\n", 1);"""', "kernel:k"))
    assert kernel_source("01_mainloop", "k") == r'printf("%d\n", 1);'


def test_an_unknown_kernel_or_notebook_names_what_there_is(notebook):
    notebook(cell('naive = "x"', "kernel:naive"))
    with pytest.raises(ValueError, match="01_mainloop has no kernel 'tilde'; it has naive"):
        kernel_source("01_mainloop", "tilde")
    with pytest.raises(ValueError, match="no notebook '09_none'; notebooks: 01_mainloop"):
        kernel_source("09_none", "naive")


@pytest.mark.parametrize(
    "source", ["a = 1", "a = open('x').read()", "a = 'x'\nb = 'y'", "print('x')", "a = f'{1}'"]
)
def test_a_kernel_cell_is_one_plain_string_and_is_not_executed(notebook, source):
    notebook(cell(source, "kernel:naive"))
    with pytest.raises(
        ValueError, match="tagged 'kernel:naive' must hold one assignment of one plain string"
    ):
        kernel_source("01_mainloop", "naive")


def test_a_kernel_may_be_an_earlier_one_edited(notebook):
    first = cell(f'naive = r"""{NAIVE}"""', "kernel:naive")
    launch = "two_launch = Launch(threads=2)"
    notebook(
        first, cell(f'two = edited(naive, ("naive(", "two("), ("= 1;", "= "\n "2;"))\n{launch}', "kernel:two")
    )
    assert kernel_source("01_mainloop", "two") == NAIVE.replace("naive(", "two(").replace("= 1;", "= 2;")
    assert sources.kernel_launch("01_mainloop", "two") == Launch(threads=2)
    notebook(first, cell('two = edited(naive, ("= 2;", "= 3;"))', "kernel:two"))
    with pytest.raises(ValueError, match="the kernel has no '= 2;'"):
        kernel_source("01_mainloop", "two")


@pytest.mark.parametrize(
    "value",
    [
        'edited(later, ("1", "2"))',
        "edited(naive, *changes)",
        'edited(naive, ("1", str(2)))',
        'replaced(naive, ("1", "2"))',
    ],
)
def test_what_edits_a_kernel_is_plain_and_is_not_executed(notebook, value):
    notebook(cell(f'naive = r"""{NAIVE}"""', "kernel:naive"), cell(f"two = {value}", "kernel:two"))
    with pytest.raises(
        ValueError, match=r"tagged 'kernel:two' must hold .* of an earlier kernel with plain strings"
    ):
        kernel_source("01_mainloop", "two")


def test_a_launch_lives_with_its_kernel(notebook):
    launch = "naive_launch = Launch(tile=(128, 128, 32), threads=256, shared_mem=3 * (128 + 256) * 64 - 1)  # three"
    notebook(cell(f'naive = r"""{NAIVE}"""\n{launch}', "kernel:naive"), cell('other = "x"', "kernel:other"))
    expected = Launch((128, 128, 32), 256, 73727)
    assert sources.kernel_launch("01_mainloop", "naive") == expected
    assert kernel_source("01_mainloop", "naive") == NAIVE
    kernel, launch = lesson_kernel("01_mainloop", "naive")
    assert (kernel.code, kernel.name, kernel.options, launch) == (NAIVE, "naive", OPTIONS, expected)


@pytest.mark.parametrize("read", [sources.kernel_launch, lesson_kernel])
def test_a_launch_that_is_not_there_names_those_that_are(notebook, read):
    launched = cell('naive = "x"\nnaive_launch = Launch(threads=1)', "kernel:naive")
    notebook(launched, cell('saxpy = "y"', "kernel:saxpy"))
    with pytest.raises(ValueError, match="has no kernel 'tilde'; it has naive, saxpy"):
        read("01_mainloop", "tilde")
    with pytest.raises(ValueError, match=r"has no saxpy_launch; kernels with a launch: naive$"):
        read("01_mainloop", "saxpy")


@pytest.mark.parametrize(
    ("launch", "wrong"),
    [
        ("{'tile': (1, 1, 1)}", "{'tile': (1, 1, 1)}"),
        ("dict([('threads', 1)])", "dict([('threads', 1)])"),
        ("Launch(**base)", "Launch(**base)"),
        ("dict(threads=256)", "dict(threads=256)"),
        ("Launch(threads=THREADS)", "THREADS"),
        ("Launch(tile=(128, 128, depth), threads=256)", "depth"),
        ("Launch(threads=int('256'))", "int('256')"),
        ("Launch(threads=2 ** 8)", "2 ** 8"),
        ("Launch(threads='256')", "'256'"),
        ("Launch(threads=True)", "True"),
        ("tiled_launch", "tiled_launch"),
    ],
)
def test_a_launch_is_made_of_plain_numbers_and_is_not_executed(notebook, launch, wrong):
    notebook(cell(f"naive = 'x'\nnaive_launch = {launch}", "kernel:naive"))
    message = re.escape("naive_launch must be Launch(tile=..., threads=...) of plain numbers, and " + wrong)
    with pytest.raises(ValueError, match=f"'kernel:naive': {message} is something else"):
        sources.kernel_launch("01_mainloop", "naive")


@pytest.mark.parametrize(
    "below",
    ["launch = Launch(threads=1)", "tiled_launch = Launch(threads=1)", "naive_launch = Launch()\nb = 1"],
)
def test_nothing_but_its_own_launch_stands_below_a_kernel(notebook, below):
    notebook(cell(f"naive = 'x'\n{below}", "kernel:naive"))
    with pytest.raises(ValueError, match="with plain strings, and below it at most naive_launch = Launch"):
        kernel_source("01_mainloop", "naive")


@pytest.mark.parametrize("path", sources.notebooks(sources.NOTEBOOKS), ids=lambda path: path.stem)
def test_every_gemm_kernel_of_a_lesson_has_its_launch(path):
    """A launch is of one product."""
    for name, source in sources.kernels(path.stem).items():
        if ("int M, int N, int K" in source and "int products" not in source) or "int queries" in source:
            assert sources.kernel_launch(path.stem, name).tile
        else:
            with pytest.raises(ValueError, match=f"no {name}_launch"):
                sources.kernel_launch(path.stem, name)


def test_the_diff_shows_what_changed_and_where():
    diff = show_diff("a\nb\nc\n", "\na\nB\nc\n")
    assert repr(diff) == "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"


def test_a_line_that_only_moved_is_no_change_without_indents():
    before, after = "{\nloop\n  a;\n  b;\n}", "{\nouter\n  loop\n    a;\n    c;\n}"
    assert repr(show_diff(before, after, indents=False)) == (
        "@@ -1,5 +1,6 @@\n {\n+outer\n   loop\n     a;\n-  b;\n+    c;\n }"
    )
    assert "-  a;" in show_diff(before, after)


def test_the_diff_of_two_kernels_takes_their_source():
    class Kernel:
        def __init__(self, code):
            self.code = code

    assert repr(show_diff(Kernel("a\nx"), Kernel("a\ny"))) == repr(show_diff("a\nx", "a\ny"))


def test_no_difference():
    assert repr(show_diff(NAIVE, NAIVE)) == "no difference"
    assert "no difference" in show_diff(NAIVE, NAIVE)._repr_html_()


def test_the_diff_in_html_keeps_the_marks_and_escapes_the_source():
    html = show_diff("if (a < b)", "if (a > b)")._repr_html_()
    assert ">-if (a &lt; b)<" in html and ">+if (a &gt; b)<" in html
    # Shades are half-transparent and the text keeps the page's colour, so both themes can be read.
    assert "rgba(" in html and "color:#" not in html and ";color:" not in html


def test_edited_replaces_all_and_refuses_what_is_not_there():
    assert edited("a; b; a;", ("a", "c"), ("b", "d")) == "c; d; c;"
    with pytest.raises(
        ValueError, match=r"the kernel has no '__syncthread\(\);'; did you mean '__syncthreads"
    ):
        edited("{\n    __syncthreads();\n}", ("__syncthread();", ""))
