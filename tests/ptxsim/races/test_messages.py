"""Messages that help: what is wrong, which line, in whose file, what to do."""

import html
import re

import numpy as np
import pytest

import ptxsim
from ptxsim import CompileError, launch
from tests.ptxsim.small_kernels import found, run_on_numbers

TILE = "__shared__ int tile[64];\n"
COPY_TO_OTHERS = TILE + "COPY(&tile[t], in + t); COMMIT;\n"


@pytest.mark.parametrize(
    ("kind", "cause", "body", "words"),
    [
        ("read-after-write", "wait-behind-barrier",
         COPY_TO_OTHERS + "__syncthreads();\nWAIT(0);\nout[t] = tile[t ^ 32]; // HERE",
         r"Your wait stands behind the barrier: at line 15 the copy arrives.*First the wait, then __syncthreads"),
        ("read-after-write", "no-barrier", COPY_TO_OTHERS + "WAIT(0);\nout[t] = tile[t ^ 32]; // HERE",
         r"A __syncthreads\(\) is missing between that write and this read"),
        ("read-after-write", "left-out-of-barrier",
         TILE + "tile[t] = t;\nif (t < 32)\nBAR(1, 32);\nout[t] = tile[t ^ 32]; // HERE",
         r"Not all threads come to the barrier at line 15: thread 0 does, thread 32 does not"),
        ("barrier-divergence", "barrier-passed-by", TILE + "if (t != 5)\n__syncthreads(); // HERE\nout[t] = t;",
         r"thread 5 of block 0 passes this barrier by, and thread .* Not all threads come to it"),
        ("barrier-divergence", "barrier-passed-by",
         'asm volatile("{ .reg .pred p; setp.ge.s32 p, %0, 16; @p bar.sync 0; }" :: "r"(t)); // HERE\nout[t] = t;',
         r"thread 0 of block 0 passes this barrier by, and thread 16 of the same warp waits at it"),
        ("barrier-divergence", "different-barriers",
         "if (t < 32)\n__syncthreads(); // HERE\nelse\n__syncthreads(); // HERE\nout[t] = t;",
         r"wait at different __syncthreads\(\): thread .* at line .*, thread .* at line"),
        ("unwaited-copy", "no-wait", COPY_TO_OTHERS + "out[t] = tile[t]; // HERE",
         r"reads tile\[0\] before the asynchronous copy .* it itself issued the copy at line 13"),
        ("unwaited-copy", "no-commit", TILE + "COPY(&tile[t], in + t);\nWAIT(0);\nout[t] = tile[t]; // HERE",
         r"No cp.async.commit_group follows line 13"),
        ("write-after-write", "no-commit",
         TILE + "COPY(&tile[t], in + t);\nCOPY(&tile[t], in + t + 64); // HERE\nCOMMIT; WAIT(0); out[t] = tile[t];",
         r"before the asynchronous copy into it is known to have arrived; it itself issued the copy at line 13"),
        ("write-after-write", "no-wait", COPY_TO_OTHERS + "tile[t ^ 32] = 1; // HERE\nWAIT(0);",
         r"before the asynchronous copy into it is known to have arrived; thread 32 issued the copy at line 13"),
    ],
)  # fmt: skip
def test_a_finding_says_what_is_missing(kind, cause, body, words):
    report, _ = run_on_numbers(body, block=64)
    assert found(report) == ([kind], set()), report
    assert report.hazards[0].cause == cause and re.search(words, report.hazards[0].message), report


def test_the_most_serious_finding_comes_first():
    """Whatever was found first."""
    body = TILE + "out[t] = tile[t];\ntile[t] = t;\nout[t] += tile[t ^ 32];"
    report, _ = run_on_numbers(body, block=64)
    assert [hazard.kind for hazard in report.hazards] == ["read-after-write", "uninitialised-read"]
    assert report.hazards[0].line > report.hazards[1].line


def test_of_several_the_first_is_told_and_how_many_there_are():
    body = TILE + "tile[t] = t;\nout[t] = tile[t ^ 32];{}"
    several, _ = run_on_numbers(body.format(""), block=64)
    assert re.match(r"read-after-write at line \d+ \(the first of 64\): thread 0 of", str(several.hazards[0]))
    one, _ = run_on_numbers(TILE + "if (t == 40) tile[0] = in[0];\nif (t == 5) out[t] = tile[0];", block=64)
    assert re.match(r"read-after-write at line \d+: thread 5 of", str(one.hazards[0]))


def test_errors_come_before_warnings_and_not_too_many():
    unused = "".join(f"int unused{i} = {i};\n" for i in range(60))
    source = f'extern "C" __global__ void k(int* out)\n{{\n{unused}out[0] = nothing;\n}}\n'
    with pytest.raises(CompileError) as caught:
        ptxsim.compile(source, "k")
    lines = str(caught.value).splitlines()
    assert lines[0] == 'kernel.cu(63): error: identifier "nothing" is undefined'
    assert "out[0] = nothing;" in lines[1]
    assert len(lines) <= 17 and re.match(r"\.\.\. and \d+ more lines", lines[-1])


# ---- a kernel in a header

HEADER = """// a kernel in a header
extern "C" __global__ void k(int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = 1;
    out[threadIdx.x] = tile[63 - threadIdx.x];  // 1 < 2
    out[threadIdx.x + n] = 1;
}
"""


@pytest.fixture
def header_report(tmp_path):
    (tmp_path / "race.cuh").write_text(HEADER)
    source = "constexpr int n = 64;\n#include <race.cuh>\n\n\n\n// another line 6\n// another line 7\n"
    kernel = ptxsim.compile(source, "k", (f"-I{tmp_path}",))
    return launch(kernel, 1, 64, (np.zeros(64, np.int32),))


def test_a_line_of_a_header_is_quoted_from_the_header(header_report):
    text = str(header_report)
    assert "read-after-write at line 6 of race.cuh" in text and "wrote at line 5 of race.cuh" in text
    assert "       6 | out[threadIdx.x] = tile[63 - threadIdx.x];  // 1 < 2" in text
    assert "out-of-bounds at line 7 of race.cuh" in text and "       7 | out[threadIdx.x + n] = 1;" in text
    assert "another line" not in text
    assert repr(header_report) == (
        "Report(k: out-of-bounds at line 7 of race.cuh, read-after-write at line 6 of race.cuh)"
    )


def test_the_page_quotes_it_too(header_report):
    page = html.unescape(re.sub(r"<[^>]+>", "", header_report._repr_html_()))
    assert "       6 | out[threadIdx.x] = tile[63 - threadIdx.x];  // 1 < 2" in page
    assert "another line" not in page and "constexpr" not in page


def test_a_helper_of_a_header_is_blamed_on_the_line_that_calls_it(tmp_path):
    (tmp_path / "put.cuh").write_text("__device__ inline void put(int* to, int n)\n{\n    to[n] = 1;\n}\n")
    source = '#include <put.cuh>\nextern "C" __global__ void k(int* out)\n{\n    put(out, 64);\n}\n'
    kernel = ptxsim.compile(source, "k", (f"-I{tmp_path}",))
    text = str(launch(kernel, 1, 1, (np.zeros(64, np.int32),)))
    assert (
        "out-of-bounds at line 4:" in text and "(in put.cuh:3)" in text and "       4 | put(out, 64);" in text
    )
