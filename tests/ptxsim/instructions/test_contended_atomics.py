"""Atomics of many lanes on few places, which are done place by place: as lane after lane would."""

import numpy as np
import pytest

from tests.ptxsim.small_kernels import run

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
OF = {
    "Add": lambda old, b: old + b,
    "Exch": lambda old, b: b,
    "Min": min,
    "Max": max,
    "And": lambda old, b: old & b,
    "Or": lambda old, b: old | b,
    "Xor": lambda old, b: old ^ b,
    "Inc": lambda old, b: 0 if old >= b else old + 1,
    "Dec": lambda old, b: b if old == 0 or old > b else old - 1,
}
TYPES = {"int": np.int32, "unsigned": np.uint32, "long long": np.int64, "unsigned long long": np.uint64}
HAVE = {
    "Add": ("int", "unsigned", "unsigned long long"),
    "Exch": ("int", "unsigned long long"),
    **dict.fromkeys(("Min", "Max"), tuple(TYPES)),
    **dict.fromkeys(("And", "Or", "Xor"), ("int", "unsigned long long")),
    **dict.fromkeys(("Inc", "Dec"), ("unsigned",)),
}
CASES = [(name, kind) for name, kinds in HAVE.items() for kind in kinds]
PLACES = 3


@pytest.mark.parametrize("where", ["out", "s"])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_what_each_lane_gets(name, kind, where):
    """The old values, and what is there in the end."""
    dtype, rng = TYPES[kind], np.random.default_rng(1)
    values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 64, dtype, endpoint=True)
    if name in ("Inc", "Dec"):
        values %= 5
    out = np.concatenate([rng.integers(0, 100, PLACES, dtype), np.zeros(64, dtype)])
    expected = [*map(int, out[:PLACES])], []
    for lane, value in enumerate(values.tolist()):
        place = lane * lane % PLACES
        expected[1].append(expected[0][place])
        new = OF[name](expected[0][place], value)
        expected[0][place] = int(
            np.array(new & (M64 if dtype().itemsize == 8 else M32), f"u{dtype().itemsize}").view(dtype)
        )
    body = f"""__shared__ {kind} s[{PLACES}];
        if (t < {PLACES}) s[t] = out[t];
        __syncthreads();
        out[{PLACES} + t] = atomic{name}(&{where}[t * t % {PLACES}], in[t]);
        __syncthreads();
        if (t < {PLACES}) out[t] = {where}[t];"""
    report = run(body, out, values, parameters=f"{kind}* out, const {kind}* in", block=64)
    assert report.ok, report
    assert out.tolist() == expected[0] + expected[1]


def test_thousands_of_lanes_on_one_place_take_no_more_work_than_one():
    """By the measure of a launch's work: 200 turns of a loop, and not 200 times 4,096."""
    out = np.zeros(1, np.int32)
    body = "for (int i = 0; i < 200; ++i) atomicAdd(out, 1);"
    assert run(body, out, parameters="int* out", grid=16, block=256, max_steps=20_000).ok
    assert out[0] == 200 * 4096
