"""How fast a kernel is when it runs on and on, what the chip draws then, and what holds its clock down.

A burst of 20 launches ends before the chip is warm. Tensor cores on random data then draw more than the chip may: the
driver lowers the clock, and it stays low.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import reduce
from operator import or_
from statistics import median

from . import device

SECONDS = 2.0
LIMITS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "temperature",
    0x40: "temperature",
    0x80: "power brake",
}
"""Bits of clocks_event_reasons.active, as NVML's documentation numbers them (nvmlClocksEventReasons)."""
_ASK = ("nvidia-smi", "--query-gpu=clocks.sm,power.draw.instant,clocks_event_reasons.active")
_READING = re.compile(r"([\d.]+), ([\d.]+), (0x[\da-fA-F]+)")
EVERY = 100  # milliseconds between two readings


def sustained(launch: Callable[[], None], us: float, flops: int) -> dict:
    """Speed over SECONDS of launches of about `us` microseconds each, after half as long to warm up.

    With it what the driver says meanwhile, the medians of its readings: SM clock, power; and every reason that it
    gives for a lowered clock.
    """
    cuda = device.cp.cuda
    begin, end = cuda.Event(), cuda.Event()
    half = max(int(SECONDS / 2 / us * 1e6), 1)
    for _ in range(half):
        launch()
    begin.record()
    driver = _watch()  # the host is ahead of the GPU by a thousand launches at most
    for _ in range(2 * half):
        launch()
    end.record()
    end.synchronize()
    mean = 1000 * cuda.get_elapsed_time(begin, end) / (2 * half)
    return {"sustained": round(flops / mean / 1e6, 2), **_said(driver)}


def _watch() -> subprocess.Popen | None:
    """A program that prints a reading every EVERY milliseconds until it is stopped."""
    cuda = device.cp.cuda
    which = f"--id={cuda.runtime.deviceGetPCIBusId(cuda.Device().id)}"  # its number may be another one there
    try:
        command = [*_ASK, "--format=csv,noheader,nounits", f"--loop-ms={EVERY}", which]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    except OSError:
        return None


def _said(driver: subprocess.Popen | None) -> dict:
    """What the driver said until now; None and "" where it said nothing."""
    if driver:
        driver.terminate()
    lines = driver.communicate()[0].splitlines() if driver else []
    readings = [reading for line in lines if (reading := _READING.fullmatch(line.strip()))]
    bits = reduce(or_, (int(reading[3], 16) for reading in readings), 0)
    return {
        "sustained_mhz": round(median(float(reading[1]) for reading in readings)) if readings else None,
        "watts": round(median(float(reading[2]) for reading in readings)) if readings else None,
        "limits": ", ".join(dict.fromkeys(words for bit, words in LIMITS.items() if bits & bit)),
    }
