"""The table of single-instruction kernels: it compiles, its cases are distinct, and the simulator runs them."""

import numpy as np
import pytest

from ptxsim import compile, launch
from ptxsim.compiler import nvrtc
from ptxsim.instructions.registry import PURE
from tests.kernels.instruction_cases import (
    CASES,
    PRELUDE,
    ROWS,
    STRIDES,
    Form,
    every_form,
    kernel_source,
)


def test_every_form_compiles_for_compute_80():
    source = PRELUDE + "".join(kernel_source(form) for form in every_form())
    ptx = nvrtc.compile_ptx(source).ptx
    assert all(f".entry {case.kernel}(" in ptx for case in CASES)


def test_a_form_with_the_most_operands_compiles():
    form = Form("bfi.b32", "b32", ("b32", "b32", "u32", "u32"))
    assert len(form.inputs) == len(STRIDES)
    assert "bfi.b32" in nvrtc.compile_ptx(PRELUDE + kernel_source(form)).ptx


def test_cases_are_distinct_and_complete():
    assert len({case.name for case in CASES}) == len({case.kernel for case in CASES}) == len(CASES)
    assert all(len(column) == ROWS for case in CASES for column in case.inputs)
    assert {case.name.split(".")[0] for case in CASES} <= set(PURE)
    assert all(case.output_dtype.kind == ("u" if case.exact else "f") for case in CASES)


@pytest.mark.parametrize("case", CASES[::20], ids=lambda case: case.name)
def test_the_simulator_runs_them(case):
    out = np.full(ROWS, 0xA5, case.output_dtype)
    report = launch(compile(case.source, case.kernel), (1,), (ROWS,), (out, *map(np.copy, case.inputs)))
    assert report.ok, str(report)
    assert len(np.unique(out)) > 1
