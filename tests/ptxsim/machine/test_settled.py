"""Loops whose rounds are all alike are left at their last round; what they find and compute stays."""

import numpy as np
import pytest

import ptxsim
from ptxsim.front.arguments import bind
from ptxsim.front.launch import launch_bound
from ptxsim.machine.launched import Flags
from tests.ptxsim.small_kernels import source_of

ROUNDS = 403
ROUND = "for (int i = 0; i < n; i++) "
STORE = 'asm volatile("st.shared.u32 [%0], %1;" :: "r"(SHARED(&s[t])), "r"(in[t]) : "memory"); out[t] = s[t];'
SWAP = "int x = *p; *p = *q; *q = x;"
BODIES = {
    "a sum, again and again": (ROUND + "out[t] = in[t] + in[t + 64];", True),
    "down": ("for (int i = n; i > 0; i--) out[t] = in[t] + 1;", True),
    "in steps": ("for (int i = 7; i < n; i += 3) out[t] = in[t] + 1;", True),
    "a long one": ("for (long long i = 0; i < n; i++) out[t] = in[t] + 1;", True),
    "of unsigned numbers": ("for (unsigned i = 0; i < (unsigned)n; i++) out[t] = in[t] + 1;", True),
    "a sum that comes to rest": (ROUND + "out[t] = min(out[t] + 1, 30);", True),
    "in shared memory": (f"__shared__ int s[64]; int i = 0; do {{ {STORE} }} while (++i < n);", True),
    "a sum that grows": (ROUND + "out[t] += in[t];", False),
    "a register that grows": (
        f"int x = 0; {ROUND} {{ out[t] = in[t]; x = x * 3 + in[t]; }} out[t] = x;",
        False,
    ),
    "the counter is used": (ROUND + "out[t] = i;", False),
    "two places in turn": (
        f"int *p = out + t, *q = out + 64 + t;\n#pragma unroll 1\n{ROUND} {{ {SWAP} }}",
        False,
    ),
    "with an atomic": (ROUND + "atomicAdd(&out[t], 1);", False),
    "another end for each": ("for (int i = 0; i < n + t; i++) out[t] = in[t] + 1;", False),
}
WRONG = {
    "two threads": (ROUND + "out[t / 2] = in[t];", "block-conflict"),
    "two warps": (
        f"__shared__ int s[64]; {ROUND} {{ s[t] = in[t]; out[t] = s[63 - t]; }}",
        "read-after-write",
    ),
    "out of bounds": (ROUND + "out[t + 5000] = in[t];", "out-of-bounds"),
    "blocks": (ROUND + "out[t] = blockIdx.x;", "block-conflict"),
}


def ran(body: str, grid: int = 1, **how):
    """The report, the numbers, and how many instructions the groups executed."""
    kernel = ptxsim.compile(source_of(body, "int* out, const int* in, int n"), "k")
    out, numbers, states = np.zeros(256, np.int32), np.arange(256, dtype=np.int32), []
    out[64:128] = 5
    bound = bind(kernel, (out, numbers, np.int32(ROUNDS)))
    flags = Flags(how.pop("seed", None))

    def watch(machine, done, together):
        states.append(machine.launch)

    report = launch_bound(kernel, (grid, 1, 1), (64, 1, 1), bound, flags=flags, watch=watch, **how)
    return report, out, states[0]


@pytest.mark.parametrize(("body", "settles"), BODIES.values(), ids=BODIES)
def test_the_numbers_are_the_same_and_it_takes_a_few_rounds(body, settles):
    whole, expected, counted = ran(body)
    quick, numbers, state = ran(body, counted=False)
    assert (numbers == expected).all()
    assert [each.kind for each in quick.hazards] == [each.kind for each in whole.hazards]
    assert state.steps == counted.steps, "the clock goes on as if"
    assert (state.budget.spent < counted.budget.spent / 3) == settles


@pytest.mark.parametrize(("body", "kind"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found(body, kind):
    whole, quick = ran(body, 2)[0], ran(body, 2, counted=False)[0]
    assert kind in [each.kind for each in quick.hazards]
    assert quick.hazards == whole.hazards


def test_with_a_seed_each_round_runs():
    body = BODIES["down"][0]
    assert ran(body, counted=False, seed=1)[2].budget.spent > 10 * ran(body, counted=False)[2].budget.spent
