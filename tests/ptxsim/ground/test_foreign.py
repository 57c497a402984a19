"""Of others files are read and texts are shown without harm, a report shows no file but the kernel's own, and files
are written whole."""

import json
import os
import threading

import numpy as np
import pytest

import ptxsim
from ptxsim.ground import foreign, whole

RACE = """extern "C" __global__ void difference(const float* x, float* y) // {0}
{{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
#line 1 "{1}"
    y[t] = tile[63 - t];
}}
"""


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[2J\x1b[1;1Hall solved", r"\x1b[2J\x1b[1;1Hall solved"),
        ("\x9b2J \x07\r\x00\x7f", r"\x9b2J \x07\r\x00\x7f"),
        ("\u202etxt.exe \u200b\ud800", r"\u202etxt.exe \u200b\ud800"),
        ("é \N{SNOWMAN} 中\n\tone\xa0two", "é \N{SNOWMAN} 中\n\tone\xa0two"),
        (OSError("a\x1bb"), r"a\x1bb"),
    ],
)
def test_a_terminal_obeys_nothing(given, shown):
    assert ptxsim.printable(given) == shown


def test_in_a_line_no_line_ends():
    assert ptxsim.printable_line(" a\n\n  b\x1b\t") == r"a b\x1b"


def test_an_error_and_a_report_hold_no_orders_for_a_terminal():
    with pytest.raises(ptxsim.CompileError) as error:
        ptxsim.compile("#error \x1b[2J\x1b]0;owned\x07\n", "k")
    assert "owned" in str(error.value) and str(error.value).replace("\n", "").isprintable()
    kernel = ptxsim.compile(RACE.format("\x1b[2J", "kernel.cu"), "difference")
    report = str(ptxsim.launch(kernel, (1,), (64,), (np.zeros(64, np.float32), np.zeros(64, np.float32))))
    assert "hazard" in report and report.replace("\n", "").isprintable()


def test_a_report_shows_no_line_of_a_file_that_is_no_header(tmp_path):
    other = tmp_path / "secret.py"
    other.write_text("CANARY = 1\n")
    near = tmp_path / "include" / "x.cuh"
    near.parent.mkdir()
    near.write_text("HEADER\n")
    for name, options, seen in (
        (str(other), (), False),
        ("../secret.py", (f"-I{near.parent}",), False),
        (str(near), (f"-I{near.parent}",), True),
    ):
        kernel = ptxsim.compile(RACE.format("", name), "difference", options)
        report = ptxsim.launch(kernel, (1,), (64,), (np.zeros(64, np.float32), np.zeros(64, np.float32)))
        assert not report.ok and "CANARY" not in f"{report}{report._repr_html_()}"
        assert ("HEADER" in str(report)) is seen


NO_JSON = {
    "nested": "[" * 100_000 + "]" * 100_000,
    "nested, and within what Python reads": "[" * 300 + "]" * 300,
    "objects": '{"a":' * 300 + "1" + "}" * 300,
    "cut": '{"cells": [',
    "empty": "",
    "a number of 100,000 digits": "9" * 100_000,
    "not UTF-8": b"\xff\xfe\x00{",
}


@pytest.mark.parametrize("text", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json_of_ours_is_a_value_error(text):
    with pytest.raises(ValueError):
        foreign.json_of(text)


def test_what_is_json_comes_as_it_is():
    deep = json.loads("[" * foreign.DEEPEST + "]" * foreign.DEEPEST)
    for value in ({"a": [1, {"b": None}]}, deep, 5, "text"):
        assert foreign.json_of(json.dumps(value)) == value


def test_a_file_that_is_none_is_not_read(tmp_path):
    pipe, large, binary = tmp_path / "pipe", tmp_path / "large", tmp_path / "binary"
    os.mkfifo(pipe)
    large.write_text("x" * 11)
    binary.write_bytes(b"\xff\xfe")
    for path, words in ((pipe, "no plain file"), (large, "more than 10 bytes"), (tmp_path, "directory")):
        with pytest.raises(OSError, match=words):
            foreign.text_of(path, 10)
    with pytest.raises(ValueError):
        foreign.text_of(binary)
    assert foreign.text_of(large, 11) == "x" * 11


def test_nothing_is_written_through_a_link(tmp_path):
    """Neither a link in the place of the file, nor one that has the name of the file beside it."""
    other = tmp_path / "other"
    other.write_text("mine")
    path = tmp_path / "own" / "text"
    whole.write(path, "first")
    for name in ("text", ".text.part", f".text.{threading.get_native_id()}.part"):
        (path.parent / name).unlink(missing_ok=True)
        (path.parent / name).symlink_to(other)
    whole.write(path, "second")
    assert (other.read_text(), path.read_text()) == ("mine", "second")
    assert not path.is_symlink()


def test_what_is_interrupted_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "text"
    whole.write(path, "first")
    with pytest.raises(KeyboardInterrupt), whole.replaced(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [each.name for each in tmp_path.iterdir()] == ["text"] and path.read_text() == "first"
