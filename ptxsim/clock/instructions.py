"""What an SM gets of an instruction of machine code: its operation, with what it costs."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from . import operations as of
from .accesses import Access, Arrived, Asked, AtBarrier, BulkCopied, BulkStored, Found, Made
from .core import Op
from .costs import (
    ALU,
    CONSTANT_LATENCY,
    FMA,
    HEAVY,
    MEMORY,
    NO_PIPE,
    OF_AN_H100,
    OTHER_SM,
    PART,
    REGISTER_LATENCY,
    SPECIAL,
    TENSOR,
    Costs,
)
from .operands import Decoded
from .walk import Step

UNIFORM_ALU = frozenset(
    ["UMOV", "UIADD3", "USHF", "ULEA", "ULOP3", "UISETP", "USEL", "UIMAD", "ULDC", "UPLOP3", "VOTEU", "UP2UR"]
)
WHOLE_FMA = frozenset(["FFMA", "FMUL", "FADD", "FFMA2"])
FIXED_HEAVY = frozenset(["IMAD", "HFMA2", "HADD2", "HMUL2"])
VARIABLES = {
    **dict.fromkeys(("MUFU", "F2I", "I2F", "POPC"), SPECIAL),
    "SHFL": MEMORY,
    **dict.fromkeys(("LDC", "ULDC", "S2R", "S2UR", "R2UR"), NO_PIPE),
}
"""The pipes of instructions that take a fixed time and clear a scoreboard."""
LOADS_SHARED = frozenset(["LDS", "LDSM", "ATOMS"])
STORES_SHARED = frozenset(["STS", "STSM"])
LOADS_GLOBAL = frozenset(["LDG", "LDL", "LD", "ATOMG"])
STORES_GLOBAL = frozenset(["STG", "STL", "ST", "RED", "REDG"])
CONTROLS = frozenset(
    [
        "NOP",
        "BSSY",
        "BSYNC",
        "WARPSYNC",
        "YIELD",
        "DEPBAR",
        "LDGDEPBAR",
        "ERRBAR",
        "MEMBAR",
        "CCTL",
        "FENCE",
        "BRA",
        "CALL",
        "EXIT",
        "BAR",
        "CGAERRBAR",
        "UCGABAR_ARV",
        "UCGABAR_WAIT",
        "UTMACMDFLUSH",
    ]
)
ON_MEMORY = LOADS_SHARED | STORES_SHARED | LOADS_GLOBAL | STORES_GLOBAL | {"LDGSTS"}
ON_HOPPER = frozenset(["HGMMA", "SYNCS", "UTMALDG", "UTMASTG", "WARPGROUP", "ELECT", "USETMAXREG"])

Head = dict[str, Any]
"""The fields that all operations have."""


def ops_of(steps: Sequence[Step], known: dict[tuple, Op], costs: Costs = OF_AN_H100) -> list[Op]:
    """What an SM plays of a walk; `known`: what was made for other warps of the block."""
    found: list[Op] = []
    before: dict[int, Decoded] = {}
    for step in steps:
        decoded = step.decoded
        pipe = pipe_of(decoded)
        last = before.get(pipe)
        key = (id(decoded), id(last), step.access, step.executes, step.taken)
        op = known.get(key)
        if op is None:
            op = known[key] = op_of(decoded, last, step.access, step.executes, step.taken, costs)
        before[pipe] = decoded
        found.append(op)
    return found


def op_of(
    decoded: Decoded,
    before: Decoded | None,
    access: Found | None,
    executes: bool,
    taken: bool,
    costs: Costs = OF_AN_H100,
) -> Op:
    """`before`: the warp's last instruction of the same pipe. `executes`: whether any lane does."""
    control = decoded.control
    hits, misses = _banks(decoded, before)
    head: Head = {
        "at": decoded.instruction.address,
        "stall": max(control.stall, 1),
        "yields": control.yields,
        "waits": control.waits,
        "sets": -1 if control.writes is None else control.writes,
        "read": -1 if control.reads is None else control.reads,
        "hits": hits,
        "misses": misses,
    }
    name = decoded.name
    if not executes:
        return Op(**head)
    if isinstance(access, Access):
        return _on_memory(head, decoded, access, costs)
    if name in ON_HOPPER:
        return _of_hopper(head, decoded, access, costs)
    if name in CONTROLS:
        return _of_control(head, decoded, access, taken, costs)
    if name in VARIABLES and (control.writes is not None or name == "SHFL"):
        return _variable(head, name, costs)
    if name in UNIFORM_ALU:
        return Op(**head)
    return _arithmetic(head, decoded, costs)


def _arithmetic(head: Head, decoded: Decoded, costs: Costs) -> Op:
    pipe, modifiers = pipe_of(decoded), decoded.modifiers
    if pipe == MEMORY:
        return of.Passing(**head, interval=costs.alu_interval)
    if pipe == HEAVY and "WIDE" in modifiers:
        pair = any(count == 2 for _, _, count, _ in decoded.reads)
        return of.Wide(**head, pipe=pipe, interval=costs.wide_interval, pair=pair)
    if pipe == TENSOR:
        half = "1688" in modifiers and "TF32" not in modifiers  # P: half the products in half the time
        return of.Math(**head, pipe=pipe, interval=costs.tensor_interval / (1 + half))
    if pipe == FMA:
        return of.Math(**head, pipe=pipe, interval=costs.fma_interval)
    return of.Arithmetic(
        **head, pipe=pipe, interval=costs.fma_interval if pipe == HEAVY else costs.alu_interval
    )


def _variable(head: Head, name: str, costs: Costs) -> Op:
    pipe = VARIABLES[name]
    if pipe == NO_PIPE:
        return of.Timed(**head, latency=CONSTANT_LATENCY if name in ("LDC", "ULDC") else REGISTER_LATENCY)
    if pipe == SPECIAL:
        return of.Timed(**head, pipe=pipe, interval=costs.special_interval, latency=costs.special_latency)
    return of.Shuffle(**head, interval=costs.shuffle_interval, latency=costs.shuffle_latency)


def _on_memory(head: Head, decoded: Decoded, access: Access, costs: Costs) -> Op:
    name, wavefronts, sectors = decoded.name, access.wavefronts, access.sectors
    if name == "LDGSTS":
        bypass = "BYPASS" in decoded.modifiers
        lookups = costs.copied * access.lines if bypass else wavefronts + costs.copy_through_l1
        return of.Copy(**head, lookups=lookups, wavefronts=wavefronts, sectors=sectors)
    interval = max(costs.least_memory, costs.wavefront * wavefronts)
    interval += costs.stored_values * (name in STORES_SHARED and decoded.width > 1)
    if name in LOADS_SHARED | STORES_SHARED:
        return of.Shared(
            **head,
            interval=interval,
            latency=costs.wavefront * wavefronts + costs.shared_latency,
            wavefronts=wavefronts,
            writes=decoded.width if name in LOADS_SHARED else 0,
        )
    if name in LOADS_GLOBAL:
        past_l1 = {"STRONG", "GPU"} <= decoded.modifiers
        return of.Load(**head, interval=interval, wavefronts=wavefronts, sectors=sectors, past_l1=past_l1)
    written = len(sectors) + (PART - 1) * access.parts
    return of.Store(**head, interval=interval, wavefronts=wavefronts, written=written, sectors=sectors)


def _of_control(head: Head, decoded: Decoded, access: Found | None, taken: bool, costs: Costs) -> Op:
    name = decoded.name
    if name == "EXIT":
        return of.Exit(**head)
    if isinstance(access, AtBarrier):  # of a cluster's, too: the other blocks come when this one does
        made = of.Arrive if "ARV" in decoded.modifiers else of.Sync
        return made(**head, number=access.number, warps=access.warps)
    if name in ("LDGDEPBAR", "UTMACMDFLUSH"):
        return of.Commit(**head)
    if name == "DEPBAR":
        return of.CopiesWait(**head, groups=_groups(decoded))
    return of.Branch(**head, taken=costs.taken) if taken else Op(**head)


def _groups(decoded: Decoded) -> int:
    """That may be at work behind a wait."""
    return next((one.number for one in decoded.operands if one.kind == "imm"), 0)


def _of_hopper(head: Head, decoded: Decoded, access: Found | None, costs: Costs) -> Op:
    name, modifiers = decoded.name, decoded.modifiers
    if name == "HGMMA":
        columns = int(next(each for each in modifiers if each.count("x") == 2).split("x")[1])
        ends = any(one.name == "gsb0" for one in decoded.operands)
        return of.Product(**head, cycles=costs.product_interval * columns, ends=ends)
    if name == "WARPGROUP" and "ARRIVE" in modifiers:
        return of.Meet(**head)
    if name == "WARPGROUP" and "DEPBAR" in modifiers:
        return of.ProductsWait(**head, groups=_groups(decoded))
    match access:
        case BulkStored(size):
            return of.BulkStore(**head, size=size)
        case BulkCopied(mbarrier, blocks, size):
            return of.Bulk(**head, mbarrier=mbarrier, size=size, part=1 / max(blocks, 1))
        case Made(mbarrier, count):
            return of.Init(**head, mbarrier=mbarrier, count=count)
        case Arrived(mbarrier, arrivals, expected, elsewhere):
            late = OTHER_SM if elsewhere else 0.0
            return of.Signal(**head, mbarrier=mbarrier, arrivals=arrivals, expected=expected, late=late)
        case Asked(mbarrier, parity):
            return of.Await(**head, mbarrier=mbarrier, parity=parity)
    return Op(**head)


def pipe_of(decoded: Decoded) -> int:
    """Its pipe, as far as `.reuse` is concerned."""
    name = decoded.name
    if name in WHOLE_FMA:
        return FMA
    if name in FIXED_HEAVY:
        return HEAVY
    if name == "HMMA":
        return TENSOR
    if name in UNIFORM_ALU or name in CONTROLS or name in ON_HOPPER:
        return NO_PIPE
    if name in ON_MEMORY or name in VARIABLES:
        return MEMORY
    return ALU


@lru_cache(maxsize=1 << 15)
def _banks(decoded: Decoded, before: Decoded | None) -> tuple[tuple[int, int], tuple[int, int]]:
    kept = {(place, number) for place, number, _, reuse in before.reads if reuse} if before else set()
    return (_counted(decoded.reads, kept), _counted(decoded.reads, set()))


def _counted(reads: Iterable[tuple[int, int, int, bool]], kept: set[tuple[int, int]]) -> tuple[int, int]:
    """Reads of the bank of even and of odd registers; a register that two operands name is read once."""
    banks = [0, 0]
    for number in {
        first + more
        for place, first, count, _ in reads
        if (place, first) not in kept
        for more in range(count)
    }:
        banks[number % 2] += 1
    return banks[0], banks[1]
