"""How fast a kernel is when it runs on and on, what the chip draws then, and what holds its clock down.

A burst of 20 launches ends before the chip is warm. Tensor cores on random data then draw more than the chip may: the
driver lowers the clock, and it stays low.
"""

import re
import subprocess
from collections.abc import Callable
from functools import reduce
from operator import or_
from statistics import median

import numpy as np

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
_ASK = ("nvidia-smi", "--query-gpu=power.draw.instant,clocks_event_reasons.active")
_READING = re.compile(r"([\d.]+), (0x[\da-fA-F]+)")
EVERY = 100  # milliseconds between two readings
SM_IDS = 1024
"""More than any GPU has; %smid may leave numbers out."""
_READ_CLOCKS = """extern "C" __global__ void read_clocks(long long* clock_of_sm)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    clock_of_sm[sm] = clock64();
}"""


def sustained(run: Callable[[], None], us: float, flops: int) -> dict:
    """Speed over SECONDS of runs, one launch each, of about `us` microseconds each, after half as long to warm up.

    With it the SM clock, from the cycles that the SMs count between the first and the last of these launches, and what
    the driver says meanwhile: the median of its readings of the power, and every reason that it gives for a lowered
    clock.
    """
    cuda = device.cp.cuda
    begin, end = cuda.Event(), cuda.Event()
    read_clocks = device.cp.RawKernel(_READ_CLOCKS, "read_clocks")
    first, last = (device.cp.zeros(SM_IDS, dtype=np.int64) for _ in range(2))
    # More blocks than SMs: with as many, two could share one, and another would get none.
    every_sm = (4 * cuda.Device().attributes["MultiProcessorCount"],)
    half = max(int(SECONDS / 2 / us * 1e6), 1)
    for _ in range(half):
        run()
    read_clocks(every_sm, (1,), (first,))
    begin.record()
    driver = _watch()  # the host is ahead of the GPU by a thousand launches at most
    for _ in range(2 * half):
        run()
    read_clocks(every_sm, (1,), (last,))
    end.record()
    end.synchronize()
    total_us = 1000 * cuda.get_elapsed_time(begin, end)
    mhz = _cycles_between(first, last) / total_us
    speed = {"sustained": round(flops * 2 * half / total_us / 1e6, 2), "sustained_mhz": round(mhz)}
    return {**speed, **_said(driver)}


def _cycles_between(first: object, last: object) -> float:
    """The median over the SMs that both readings know; each SM counts from a time of its own."""
    before, after = device.cp.asnumpy(first), device.cp.asnumpy(last)
    known = (before != 0) & (after != 0)
    return float(np.median(after[known] - before[known]))


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
    """The power and the reasons that the driver told until now; None and "" where it said nothing."""
    if driver:
        driver.terminate()
    lines = driver.communicate()[0].splitlines() if driver else []
    readings = [reading for line in lines if (reading := _READING.fullmatch(line.strip()))]
    bits = reduce(or_, (int(reading[2], 16) for reading in readings), 0)
    return {
        "watts": round(median(float(reading[1]) for reading in readings)) if readings else None,
        "limits": ", ".join(dict.fromkeys(words for bit, words in LIMITS.items() if bits & bit)),
    }
