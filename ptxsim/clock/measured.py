"""A GPU's own numbers, from what `make calibrate` measured of its small kernels: ptxsim/rates/<gpu>.json.

A small kernel repeats one machine instruction. Its entry has the cycles from one of them to the next of the same warp,
with 1 to 32 warps on an SM: {"one SM": {"1": 1.22, ..., "32": 8.46}}, and "all SMs" where these share what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..gpus import H100, RANGES, SUB_CORES, WARP, Dram, Gpu, Sourced, file_name, find_gpu, refuse
from ..ground.foreign import json_of, text_of
from .costs import OF_AN_H100, Costs
from .walk import readable

RATES = Path(__file__).resolve().parents[1] / "rates"
WARPS = 32
"""With so many warps the units are busy all the time."""
UNROLLED, LOOP = 64, 4
"""FFMAs in a turn of their small kernel's loop, and the cycles of what else it issues before its branch. A"""
COPY_BESIDE = 21.0
"""Of a copy that is waited for, its issue, the tags, the wait and the loop. A"""
BARRIER_BESIDE = 3.8
"""Of a barrier, its issue and its part of the loop. A"""

FARTHEST = 9.0
"""Times as long as on an H100 a cost can be. On the GPUs known here none is more than 5.2 times an H100's: that of an
RTX 3090's tensor cores."""


class NotMeasured(Exception):
    """The GPU has no such instruction, or its file is from before this small kernel."""


@dataclass(frozen=True)
class Measured:
    """The cycles of a rates file."""

    cycles: Mapping[str, Any]

    def __call__(self, name: str, warps: int = 1, where: str = "one SM") -> float:
        """From one instruction to the next of a warp. Raises NotMeasured, and ValueError for what is no time."""
        try:
            found = self.cycles[name][where][str(warps)]
        except KeyError:
            raise NotMeasured from None
        if not isinstance(found, (int, float)) or not found > 0:
            raise ValueError(f"{name!r} takes {found!r} cycles with {warps} warps")
        return float(found)

    def core(self, name: str) -> float:
        """From one instruction of a sub-core to its next, where all its warps ask."""
        return self(name, WARPS) * SUB_CORES / WARPS

    def sm(self, name: str, where: str = "one SM") -> float:
        """From one instruction of an SM to its next, where all its warps ask."""
        return self(name, WARPS, where) / WARPS


def wavefront(m: Measured) -> float:
    return (m("LDS.32, 32 ways") - m("LDS.32, 8 ways")) / 24


def addition(m: Measured) -> float:
    """Of 32 bits, with its issue; an address of 64 bits takes a cycle more."""
    return m("IMAD, dependent") + 1


def arrival(m: Measured) -> float:
    return (m("BAR.SYNC", WARPS) - m("BAR.SYNC")) / (WARPS - 1)


# Behind each formula what it gives of the H200, and its numbers there; Costs has that, rounded, but for
# `stored_values`, where 3.0 leaves the loop out. With one warp the loop counts, too; what depends on a load's value
# is the addition that makes the next load's address.
FORMULAS: dict[str, Callable[[Measured], float]] = {
    "fma_interval": lambda m: m.core("IMAD"),  # 2.00; it has one half only
    "fma_halves": lambda m: max(round(m.core("IMAD") / m.core("FFMA")), 1),  # 2; FFMA 1.06
    "wide_interval": lambda m: m.core("IMAD.WIDE"),  # 4.0
    "alu_interval": lambda m: min(map(m.core, ("IADD3", "LOP3", "SHF", "PRMT", "F2FP"))),  # 2.03; to 2.07
    "tensor_interval": lambda m: m.core("HMMA.16816.F32, 4 sums"),  # 6.17
    "special_interval": lambda m: m.core("MUFU.EX2"),  # 8.00
    "special_latency": lambda m: m("MUFU.EX2, dependent"),  # 17.0
    "shuffle_interval": lambda m: m.core("SHFL"),  # 4.01
    "shuffle_latency": lambda m: m("SHFL, dependent"),  # 26.0
    "taken": lambda m: UNROLLED * (m("FFMA") - round(m.core("FFMA"))) - LOOP,  # 10.1; 1.22
    "least_memory": lambda m: min(m("STS.32"), m("STS.32", 8) / 2),  # 4.02; 4.5, and two a sub-core 8.03
    "wavefront": wavefront,  # 2.00
    "stored_values": lambda m: m("STS.128") - 4 * wavefront(m),  # 3.2; 11.2
    "shared_latency": lambda m: m("LDS.32, dependent") - wavefront(m) - addition(m),  # 21.3; 28.4
    "l1_latency": lambda m: m("LDG.32 in L1, dependent") - wavefront(m) - addition(m) - 1,  # 31.1; 39.3
    "l2_latency": lambda m: m("LDG.32 in L2, dependent") - wavefront(m) - addition(m) - 1,  # 288; 296
    "copy_latency": lambda m: m("LDGSTS.128, waited for") - COPY_BESIDE,  # 300; 321
    "copied": lambda m: m.sm("LDGSTS.128") / 4,  # 0.85; four lines 3.4
    "copy_through_l1": lambda m: m.sm("LDGSTS.32") - 1,  # 1.45; 2.45
    "product_interval": lambda m: m("HGMMA.64x256x16", 4) / 256,  # 0.50; 128.1
    "barrier_arrival": arrival,  # 2.0; 15.3 to 77.4
    "barrier_latency": lambda m: m("BAR.SYNC") - arrival(m) - BARRIER_BESIDE,  # 9.5; 15.3
    "l2_bytes": lambda m: WARP * 16 / m.sm("LDG.128 in L2", "all SMs"),  # 35.4; 14.5
    "store_bytes": lambda m: WARP * 16 / m.sm("STG.128", "all SMs"),  # 20.0; 25.6
}


def gpu_of(gpu: str | Gpu) -> Gpu:
    """As `find_gpu`, and any GPU by its name at the driver whose rates file has its limits."""
    try:
        return find_gpu(gpu)
    except ValueError as unknown:
        limits = _read(str(gpu)).get("limits")
        if limits is None:
            raise ValueError(f"{unknown}; on a machine that has one `make calibrate` finds out") from None
    try:
        return Gpu(**limits)
    except TypeError as why:
        raise _broken(str(gpu), why) from None


def calibrated(gpu: Gpu) -> bool:
    """Whether the clock has this GPU's own numbers, and reads its machine code."""
    return _path(gpu.driver_name).is_file() and readable(gpu.arch)


def _path(name: str) -> Path:
    return RATES / file_name(name)


def costs_of(gpu: Gpu) -> Costs:
    """Of its rates file: what that lacks is as on an H100. Without a file: as published, where gpus.py has it.

    Raises ValueError for a file that `make calibrate` did not write, and for a GPU of which nothing is known.
    """
    if _path(gpu.driver_name).is_file():
        return _costs_from(gpu.driver_name)
    if gpu.arch == H100.arch:
        return OF_AN_H100
    if gpu.rates is None:
        raise ValueError(
            f"what instructions cost on {gpu.name} is not known here: `make calibrate` measures it"
        )
    known = gpu.rates
    return replace(
        OF_AN_H100,
        fma_halves=round(OF_AN_H100.fma_interval / known.fma.value),
        tensor_interval=known.mma.value,
        l2_bytes=known.l2_bytes.value,
        l2_alone=known.l2_alone.value,
        clock_mhz=gpu.clock_mhz,
        origin="by published rates, all else as on an H100",
    )


def dram_of(gpu: Gpu) -> Dram | None:
    """What its DRAM gives and takes: by its rates file, else by gpus.py; None where neither knows it.

    Raises ValueError for a file that `make calibrate` did not write.
    """
    rates = _read(gpu.driver_name)
    if "dram" not in rates:
        return gpu.dram
    try:
        where = f"make calibrate, {rates['provenance']['date']}"
        known = {
            field.name: Sourced(float(rates["dram"][field.name]), "measured", where) for field in fields(Dram)
        }
        return Dram(**known)
    except (KeyError, TypeError, ValueError) as why:
        raise _broken(gpu.driver_name, why) from None


def _costs_from(name: str) -> Costs:
    rates = _read(name)
    try:
        m, found = Measured(rates["cycles"]), {}
        for field, formula in FORMULAS.items():
            with suppress(NotMeasured):
                found[field] = _checked(field, max(formula(m), 0.0))
        about = rates["provenance"]
        return Costs(**found, clock_mhz=int(about["max_sm_clock_mhz"]), origin=f"calibrated {about['date']}")
    except (KeyError, TypeError, ValueError) as why:
        raise _broken(name, why) from None


def _checked(field: str, value: float) -> float:
    """Raises ValueError for what no GPU has: a rate out of its range, and what takes far longer than on an H100."""
    if field in RANGES:
        refuse(field, value)
    else:
        on_an_h100 = getattr(OF_AN_H100, field)
        if value > FARTHEST * on_an_h100:
            raise ValueError(f"{field} is {value:.4g}, and {on_an_h100:.4g} on an H100")
    return value


def _read(name: str) -> dict:
    """The rates file of a GPU, by its name at the driver; {} where there is none."""
    path = _path(name)
    try:
        found = json_of(text_of(path)) if path.is_file() else {}
    except ValueError as why:
        raise _broken(name, why) from None
    if not isinstance(found, dict):
        raise _broken(name, TypeError("it is no JSON object"))
    return found


def _broken(name: str, why: Exception) -> ValueError:
    missing = f"{why} is missing" if isinstance(why, KeyError) else str(why)
    return ValueError(f"{_path(name).name} is not what `make calibrate` writes ({missing}): run that again")
