"""How fast a kernel is when it runs on and on, what the chip draws then, and what holds its clock down.

A burst of 20 launches ends before the chip is warm. Tensor cores on random data then draw more than the chip may: the
driver lowers the clock, and it stays low.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from .. import device

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


def sustained(launch: Callable[[], None], us: float, flops: int) -> dict:
    """Speed over SECONDS of launches of about `us` microseconds each, after half as long to warm up.

    With it what the driver says meanwhile: SM clock, power, and the reasons for a lowered clock.
    """
    cuda = device.cp.cuda
    begin, end = cuda.Event(), cuda.Event()
    half = max(int(SECONDS / 2 / us * 1e6), 1)
    for _ in range(half):
        launch()
    begin.record()
    for _ in range(half):
        launch()
    asked = _ask()  # while the second half runs: the host is ahead of the GPU by a thousand launches at most
    for _ in range(half):
        launch()
    end.record()
    end.synchronize()
    mean = 1000 * cuda.get_elapsed_time(begin, end) / (2 * half)
    return {"sustained": round(flops / mean / 1e6, 2), **_answer(asked)}


def _ask() -> subprocess.Popen | None:
    cuda = device.cp.cuda
    which = f"--id={cuda.runtime.deviceGetPCIBusId(cuda.Device().id)}"  # its number may be another one there
    try:
        return subprocess.Popen(
            [*_ASK, "--format=csv,noheader,nounits", which], stdout=subprocess.PIPE, text=True
        )
    except OSError:
        return None


def _answer(asked: subprocess.Popen | None) -> dict:
    """What the driver said; None and "" where it said nothing."""
    answer = asked.communicate()[0].strip().split(", ") if asked else []
    mhz, watts, reasons = answer if len(answer) == 3 else ("", "", "")
    bits = int(reasons, 16) if reasons.startswith("0x") else 0
    return {
        "sustained_mhz": int(mhz) if mhz.isdigit() else None,
        "watts": round(float(watts)) if watts.replace(".", "", 1).isdigit() else None,
        "limits": ", ".join(dict.fromkeys(words for bit, words in LIMITS.items() if bits & bit)),
    }
