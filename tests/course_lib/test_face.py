"""The face of the course: its names, how small it is, and what of earlier versions still works."""

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

import course_lib
from course_lib import moved
from tests.rules import ROOT

NAMES = """
HOPPER OPTIONS Gemm Launch benchmark check_exercise course_header cp draw edited kernel_source lesson_kernel only_on
score show_diff show_env show_progress simulate so_far this_gpu timeline
"""
OF_1_1 = {
    "course_lib": """Gemm HOPPER OPTIONS benchmark check_exercise checklist cp device edited lesson_kernel matmul
        only_on profile progress sass score show_diff show_env simulate spans tensor_map timed timeline tune tuned""",
    "course_lib.backend": "colab gpu ncu",
    "course_lib.backend.colab": "prepare",
    "course_lib.device": "INCLUDE",
    "course_lib.explore": "handover pipeline schedule",
    "course_lib.matmul": "hopper_source",
    "course_lib.measure.k_block": "k_block show_k_blocks",
    "course_lib.measure.loads_ahead": "show_loads_ahead",
    "course_lib.pictures": "bank_picture fragment_picture ldmatrix_picture sector_picture",
    "course_lib.simulator.instructions.tensor": "fragment",
    "course_lib.style": "BLUE FACE GREEN GRID ORANGE PURPLE SKY TEXT VERMILLION axes new_figure show styled",
}
"""What notebooks of version 1.1 imported."""
OF_2_0 = {
    "course_lib": """Gemm HOPPER HazardError Launch OPTIONS benchmark check_exercise checklist course_header cp cublas
        device draw edited kernel_source lesson_kernel matmul matmul_source ncu only_on profile sass score show_diff
        show_env show_progress simulate so_far spans tensor_map this_gpu timed timeline tune tuned waves""",
    "course_lib.instruments": """at_any_size bias_and_relu body check_finish full_units in_one_piece in_pieces k_block
        layer_times noted parts pause persistent_times product sectors_of_a_layer show_k_blocks show_loads_ahead
        sms_at_work stream_k_times tensor_shares tile_of tried whole_numbers""",
    "course_lib.lessons.colab": "prepare",
}
"""What notebooks imported before the course was taken apart, and what the course offered then."""
EARLIER = [
    (module, name)
    for version in (OF_1_1, OF_2_0)
    for module, names in version.items()
    for name in names.split()
]


def test_the_public_names():
    assert sorted(course_lib.__all__) == sorted(NAMES.split())
    assert set(dir(course_lib)) == set(course_lib.__all__)
    with pytest.raises(AttributeError, match="course_lib has no 'gem'"):
        _ = course_lib.gem


def test_a_small_library():
    lines = sum(
        len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "course_lib").rglob("*.py")
    )
    assert len(course_lib.__all__) <= 22 and lines <= 5100


def test_a_name_is_never_hidden_by_the_module_of_the_same_name():
    import_module("course_lib.measure.timeline")
    for package, names in {
        "course_lib": ["timeline"],
        "cupy_or_sim": ["simulate"],
        "instruments": ["checklist", "k_block", "profile", "sass", "spans", "timed", "waves"],
        "matmul": ["matmul", "tune"],
    }.items():
        assert all(callable(getattr(import_module(package), name)) for name in names), package


@pytest.mark.parametrize(("module", "name"), EARLIER)
def test_what_earlier_notebooks_import_is_still_there(module, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        exec(f"from {module} import {name}", {})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from course_lib import waves", "course_lib.waves has moved: `from instruments import waves`"),
        ("from course_lib import progress", "`from course_lib import so_far`"),
        ("from course_lib.instruments import parts", "`from instruments import parts`"),
        ("from course_lib.matmul import matmul_source", "`from matmul import matmul_source`"),
    ],
)
def test_what_moved_says_where_it_is_once(line, words):
    moved._say.cache_clear()
    with pytest.warns(FutureWarning) as said:
        exec(f"{line}\n{line}", {})
    assert len(said) == 1 and words in str(said[0].message)
    assert said[0].filename == "<string>", "the notebook's own line"


def test_an_old_module_does_not_hide_the_name_that_it_has():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        exec(
            "from course_lib.matmul import tuned\nfrom course_lib import matmul\nassert callable(matmul)", {}
        )


def test_what_stands_above_is_not_imported():
    code = "import sys, course_lib; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    above = {"cupy", "instruments", "matmul", "matplotlib", "compile_service", "course_lib.notebooks.answers"}
    assert not above & set(done.stdout.split())
