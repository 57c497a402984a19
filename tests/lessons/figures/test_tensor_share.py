"""The share of the tensor cores: FLOP that were done over those that were possible, at the clock of the same time."""

from dataclasses import replace

import pytest

from course_lib.measure.results import Results
from course_lib.measure.rows import Row
from course_lib.notebooks.figures import tensor_share
from course_lib.notebooks.figures.tensor_share import tensor_shares
from ptxsim.gpus import H100, RTX_3090

FULL = 132 * 4096 * 1000e6 / 1e12
"""TFLOP/s of an H100's tensor cores at 1000 MHz."""


def row(label: str, part: float, mhz: int = 1000, limits: str = "power cap") -> Row:
    speed = part * FULL * mhz / 1000
    return Row(label, "recorded on a GPU", tflops=speed, sustained=speed, sustained_mhz=mhz, sm_clock_mhz=mhz,
               watts=700, limits=limits)  # fmt: skip


RESULTS = Results(
    "C = A @ B.T",
    "float16",
    (row("slow", 0.31, 1980), row("fast", 0.89), replace(row("cuBLAS", 0.9), peer="cuBLAS"), Row("none")),
    1.0,
)


def test_the_share_is_of_all_cycles_whatever_the_clock():
    shares = tensor_shares(RESULTS)
    assert shares.share("slow") == pytest.approx(0.31)
    assert shares.share("fast") == pytest.approx(0.89)
    assert shares.share("none") is None


def test_a_record_counts_the_sms_of_its_own_gpu(monkeypatch):
    """A laptop's GPU replays the H100's row."""
    monkeypatch.setattr(tensor_share, "this_gpu", lambda: RTX_3090)
    recorded = replace(row("slow", 0.31), gpu=H100.driver_name)
    assert tensor_share.share_of(recorded) == pytest.approx(0.31)
    assert tensor_share.share_of(row("here", 0.31 * 82 / 132)) == pytest.approx(0.31), "of this GPU"


def test_the_table_names_what_holds_the_clock_down_and_cublas_where_it_is_asked_for():
    shown = repr(tensor_shares(RESULTS)).splitlines()
    assert [line.split()[0] for line in shown] == ["C", "slow", "fast"]
    assert "tensor cores  31%" in shown[1] and shown[1].endswith("held down by: nothing")
    assert shown[2].endswith("held down by: power cap")
    assert "cuBLAS" in repr(tensor_shares(RESULTS, peer=True))


def test_the_highest_clock_of_a_table_may_be_held_down_too():
    """At 700 W even the slowest kernel of a table may run below the clock that its GPU has."""
    held = replace(row("slow", 0.34, 1770), gpu=H100.driver_name)
    shown = repr(tensor_shares(Results("C = A @ B.T", "float16", (held, row("fast", 0.9, 1309)), 1.0)))
    assert shown.splitlines()[1].endswith("held down by: power cap")


def test_without_a_record_it_says_so():
    empty = Results("C = A @ B.T", "float16", (Row("new"),), 1.0)
    assert "there is no record" in repr(tensor_shares(empty))
