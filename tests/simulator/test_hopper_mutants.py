"""The kernels of lesson 07 with one small mistake each: the simulator reports it, or the numbers are wrong.

What survives is listed with the reason. The launch has fewer blocks than tiles, and more k-tiles than slots.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from course_lib import HOPPER, Gemm, cp
from course_lib.lessons import kernel_launch, kernel_source, kernels
from tests.sample import sample
from tests.simulator.mutate import without_comments

NOTEBOOK = "07_hopper"
NAMES = [name for name in kernels(NOTEBOOK) if "TensorMap" in kernel_source(NOTEBOOK, name)]
SHAPE = (256, 512, 384)
RULES = {
    "drop wait for a phase": (r"mbarrier_wait\([^;]*\);", ";"),
    "other parity": (r"(?<=, )(?:turn|k_tile) % 2\)|(?<=, )\(turn \+ 1\) % 2\)", "PARITY"),
    "16 bytes more": (r"(mbarrier_expect\([^;]*)\);", r"\1 + 16);"),
    "16 bytes less": (r"(mbarrier_expect\([^;]*)\);", r"\1 - 16);"),
    "nothing expected": (r"mbarrier_expect(\([^;]*), [^;,]*\);", r"mbarrier_arrive\1);"),
    "one arrival more": (r"(mbarrier_init\([^;]*)\);", r"\1 + 1);"),
    "one arrival less": (r"(mbarrier_init\([^;]*)\);", r"\1 - 1);"),
    "drop arrival": (r"mbarrier_arrive(?:_at)?\([^;]*\);", ";"),
    "wait for one wgmma less": (r"wgmma_wait<(\d)>", r"wgmma_wait<\1 + 1>"),
    "drop wait for wgmma": (r"wgmma_wait<\d>\(\);", ";"),
    "drop wgmma fence": (r"wgmma_fence\(\);", ";"),
    "drop wgmma commit": (r"wgmma_commit\(\);", ";"),
    "other stride": (r"matrix_descriptor\(([^;()]*)\)", r"(matrix_descriptor(\1) + (4ull << 32))"),
    "other step": (r"\b([ab]) \+ 2 \* k", r"\1 + 4 * k"),
    "drop proxy fence": (r"fence_async\(\);", ";"),
    "drop barrier": (r"(?:__syncthreads|named_sync<\w+>)\([^;]*\);", ";"),
    "drop barrier of the cluster": (r"cluster_sync\(\);", ";"),
    "for the own block alone": (r"mbarrier_arrive_at\((.*), thread\);", r"mbarrier_arrive(\1);"),
    "drop wait for stores": (r"wait_stores(?:_read)?\(\);", ";"),
    "drop commit of stores": (r"commit_stores\(\);", ";"),
    "other slot": (r"\(count - 1\) % SLOTS", "count % SLOTS"),
}
"""Rule -> pattern and replacement, tried at every place of the kernel itself."""
SURVIVE: dict[tuple[str, str], str] = {}
"""(kernel, mutant) -> why it does the same."""


def mutants(name: str) -> list[tuple[str, str, str, str]]:
    """Kernel, rule, the line that it changed, and the mutated source."""
    source, found = kernel_source(NOTEBOOK, name), []
    code = without_comments(source)
    start = code.index("__global__")
    for rule, (pattern, replacement) in RULES.items():
        for match in re.finditer(pattern, code):
            if match.start() < start:
                continue
            text = other_parity(match[0]) if replacement == "PARITY" else match.expand(replacement)
            line = code[: match.start()].count("\n")
            words = " ".join(code.splitlines()[line].split())
            found.append((name, rule, words, source[: match.start()] + text + source[match.end() :]))
    return found


def other_parity(text: str) -> str:
    return text.replace("(turn + 1)", "turn") if "+" in text else re.sub(r"(\w+) %", r"(\1 + 1) %", text)


@cache
def gemm() -> Gemm:
    return Gemm(*SHAPE, "float16")


def outcome(name: str, source: str) -> str:
    """The most serious hazard, "wrong numbers", or ""."""
    launch = {**kernel_launch(NOTEBOOK, name)}
    blocks = 2 if "blocks" in launch else None
    kernel, (A, B) = cp.RawKernel(source, name, options=HOPPER), gemm().integers(0)
    args, report = gemm().simulated(kernel, (A, B), **launch | {"blocks": blocks})
    if report.hazards:
        return report.hazards[0].kind
    right = (np.asarray(A, np.float64) @ np.asarray(B, np.float64).T).astype(np.float16)
    return "" if np.array_equal(args[2], right) else "wrong numbers"


EVERY = [mutant for name in NAMES[::-1] for mutant in mutants(name)]


@pytest.mark.parametrize("name", sample(NAMES[::-1], lambda name: "blocks" in kernel_launch(NOTEBOOK, name)))
def test_the_kernel_itself_is_right(name):
    assert outcome(name, kernel_source(NOTEBOOK, name)) == ""


@pytest.mark.parametrize(
    ("name", "rule", "line", "source"),
    [
        pytest.param(*each, id=f"{each[0]}: {each[1]}: {each[2]}")
        for each in sample(EVERY, lambda each: each[1])
    ],
)
def test_each_mistake_is_found(name, rule, line, source):
    assert bool(outcome(name, source)) != ((name, f"{rule}: {line}") in SURVIVE)
