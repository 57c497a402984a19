"""Texts of others: a report and an error show nothing that a terminal obeys, and no file but the kernel's own."""

import numpy as np
import pytest

import ptxsim

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
