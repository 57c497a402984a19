"""How fast a kernel is when it runs on and on, and what a driver says meanwhile."""

import select
import subprocess
import sys

import pytest

from cupy_or_sim import power
from tests.fake_gpu import FakeCupy, install


def driver(*readings: str) -> subprocess.Popen:
    """A stand-in for nvidia-smi that has printed these, and is still there."""
    says = ["-c", f"print({chr(10).join(readings)!r}, flush=True); import time; time.sleep(60)"]
    made = subprocess.Popen([sys.executable, *says], stdout=subprocess.PIPE, text=True)
    select.select([made.stdout], [], [])  # it has said all that
    return made


def test_sustained_speed_its_clock_and_what_the_driver_says_meanwhile(monkeypatch):
    fake = install(monkeypatch, FakeCupy({"long": 1000.0}))
    fake.cycles_per_us = 1407.4
    says = driver("500.00, 0x0000000000000000", *["699.51, 0x0000000000000004"] * 2, "7")
    monkeypatch.setattr(power, "_watch", lambda: says)
    found = power.sustained(lambda: fake.RawKernel("", "long")((1,), (1,), ()), 1000.0, flops=10**9)
    monkeypatch.undo()
    fake = install(monkeypatch, FakeCupy({"long": 1000.0}))
    assert found == {"sustained": 1.0, "sustained_mhz": 1407, "watts": 700, "limits": "power cap"}
    monkeypatch.setattr(power, "_ASK", ("there is no such program",))
    found = power.sustained(lambda: fake.RawKernel("", "long")((1,), (1,), ()), 1000.0, flops=10**9)
    assert found == {"sustained": 1.0, "sustained_mhz": 2000, "watts": None, "limits": ""}
    assert len(fake.launched) == 3000 + 2  # three times one second, and the clocks before and behind


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        ("0x1", ""),  # idle
        ("0x2", ""),  # clocks that somebody set
        ("0x8", "hardware slowdown"),
        ("0x10", ""),  # as fast as other GPUs
        ("0x24", "power cap, temperature"),
        ("0x60", "temperature"),
        ("0x80", "power brake"),
    ],
)
def test_what_holds_the_clock_down(bits, words):
    assert power._said(driver(f"100.00, {bits}")) == {"watts": 100, "limits": words}
