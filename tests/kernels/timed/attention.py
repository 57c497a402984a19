"""Attention, in variants: how softmax goes beside wgmma."""

from pathlib import Path

from course_lib import cp
from cupy_or_sim import device
from tests.kernels.golden import FOLDER

FILE = FOLDER / "attention_h200.json"
CODE = Path(__file__).with_name("attention.cu")
LENGTH, HEADS, KEYS, DEPTH = 4096, 64, 128, 128
FLOP = 4 * DEPTH * HEADS * LENGTH**2
PLAIN = {"WG": 2, "TURNS": 0, "AHEAD": 0, "EARLY": 0, "NOEXP": 0, "NORESCALE": 0, "NOSOFT": 0}
SIDES = "", "WG=1", "TURNS=2", "AHEAD=1 TURNS=1"
PARTS = "NOEXP=1", "NORESCALE=1", "NOSOFT=1"
VARIANTS = [
    *SIDES,
    *("WG=3", "TURNS=1", "AHEAD=1", "TURNS=2 EARLY=1"),
    *(f"{side} {part}".strip() for part in PARTS for side in SIDES),
]
SMS, FLOP_A_CYCLE = 132, 4096  # of an SM's tensor cores


def named(variant: str) -> dict[str, int]:
    """The macros that are other than PLAIN's."""
    return {name: int(value) for name, _, value in (each.partition("=") for each in variant.split())}


def kernel(**changed: int):
    code = CODE.read_text(encoding="utf-8").replace("REGISTERS", ", ".join(f"%{at}" for at in range(64)))
    defines = [f"-D{name}={value}" for name, value in {**PLAIN, **changed}.items()]
    return cp.RawKernel(code, "attention", options=(*device.HOPPER, *defines))


def blocks(WG: int = 2, **_: int) -> int:
    return HEADS * LENGTH // (64 * WG)


def shared(WG: int = 2, **_: int) -> int:
    return 2 * DEPTH * (64 * WG + 4 * KEYS) + 80
