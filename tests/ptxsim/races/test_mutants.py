"""Kernels with one small mistake each: the simulator reports it, or the numbers are wrong.

What survives is listed here, with the reason why it is no mistake. The list is exact: a mutant in it that is reported
is a false alarm. A kernel without its padding or swizzle gives the same numbers, and must cost more wavefronts.

Each rule is tried on some kernels, and under COURSE_EVERY_CASE on every kernel at every place where it fits
(tests/sample.py).
"""

import re
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache

import pytest

from ptxsim import CompileError
from tests.kernels.to_mutate import groups
from tests.ptxsim.races.judged import build, outcome
from tests.ptxsim.races.mutate import RULES, Mutant, mutants
from tests.ptxsim.races.test_sanitizer import TABLE
from tests.sample import EVERY, one_in

EQUIVALENT = [  # kernel, mutant, why it does the same
    *((kernel, "wait for one more: *", "waits for a newer copy as well: the same numbers, with less overlap")
      for kernel in ("gemm_pipeline_api", "gemm_async_[34]_*", "fp32_s[345]_*", "fp16_s[345]_*", "lesson.*")),
    ("gemm_async_2_*", "drop bounds check: if (tile < tiles) load(tile);",
     "two stages load one k-tile before the loop, and there is always one"),
    ("gemm_tiled_half", "other stage: int t = *chunk = t % 2 * 8;", "the two threads of a row change places"),
    ("fp16_*", "other stage: int m = warp % 2 * 64,*", "two warps change places"),
    ("lesson.*", "other stage: *m = warp % 2 * 64*", "two warps change places"),
    *(("lesson.*", f"drop bounds check: {what}",
       "arrives once more, at a barrier that nobody waits for any more")
      for what in ("if (k_tile + SLOTS < K / TK) named_arrive*(EMPTY + slot);", "if (piece + 1 < PIECES)")),
    ("lesson.one_warp", "other stage: for (int k = lane % 2 * 8;*", "two lanes change places"),
    ("lesson.*", "shift index: store_tile(*warp ** 16 * 72);",
     "each warp's piece lies one piece further: they still lie in a slot that is free, and apart"),
    *((f"lesson.{kernel}", "drop pad: *", "the lesson shows it: in this layout the padding gains nothing")
      for kernel in ("single_buffer", "early_issue", "example_two_buffers", "example_double_buffer")),
    ("lesson.vector_copy", "drop bounds check: else if (t < 512)",
     "the other half of the threads copies B once more: the same bytes to the same places"),
    ("lesson.batch", "other stage: *shuffled(int column) { return column ^ column / 32 % 2 * 4; }",
     "a warp has 32 columns, and none of them changes its place"),
    ("lesson.batch", "drop bounds check: if (!plain) wide ? *",
     "the way of all other sums to C is right for plain ones, too"),
    ("block_sum_last_warp", "shift index: if (t == 0) sums[blockIdx.x] = part[0]; #2",
     "after the last steps every lane holds the whole sum"),
    ("inclusive_scan", "drop barrier: __syncwarp();", "each lane writes only the element that it alone read before"),
    ("inclusive_scan", "drop bounds check: if (t < blockDim.x / 32) of_warp[t] = total;",
     "the array has 32 elements, and nobody reads the last ones"),
    ("softmax", "shift index: float largest = row[0];", "another element of the row to begin a maximum with"),
    ("softmax", "shift index: largest = part[0];", "exp(x - c) / sum(exp(x - c)) is the same for every c"),
    ("producer_consumer", "drop bounds check: if (round + 2 < rounds) barrier_arrive(EMPTY + slot);",
     "arrives once more, at a barrier that nobody waits for any more"),
]  # fmt: skip

SLOWER = [  # kernel, mutant: the same numbers, more wavefronts
    ("transpose_padded", "drop pad: __shared__ float tile[TILE][TILE + 1];"),
    ("fp16_*", "drop swizzle: *"),
    ("lesson.batch", "drop swizzle: return row * WIDTH *"),
]

ONLY_WAITS = (
    "gemm_async_4*", "fp32_s[245]*", "fp16_s*", "lesson.single_buffer",
    "lesson.example_two_buffers", "lesson.double_buffer", "lesson.narrow_loads",
    "lesson.ring", "lesson.three_stage", "lesson.complete",
)  # fmt: skip
"""Kernels that differ little from another one, in the number of stages or in how they load: only these rules."""
WAITS = ("drop barrier", "drop commit", "drop wait", "wait for one less", "wait for one more")

MOST = {"drop barrier": 2}
"""Mutants of one rule and kernel, where it is more than one: a barrier before a read and one behind it are not the
same."""
MOST_SHIFTS = 4
"""Of every mutant there is: shifted indices of one kernel, evenly; nearly all of them end in the same few ways."""
JUDGED = {(row["kernel"], row["mutant"]) for row in TABLE}
"""Mutants that the sanitizer judged: test_sanitizer.py simulates them anyway."""


def any_match(name: str, patterns) -> bool:
    """Whether `name` is one of `patterns`, in which only * stands for anything ([ and ? are plain)."""
    return any(fnmatchcase(name, re.sub(r"[\[?]", r"[\g<0>]", pattern)) for pattern in patterns)


def possible(group: str) -> list[Mutant]:
    """The mutants of a group's kernel."""
    everyone = list(mutants(groups()[group][0].source))
    if any(fnmatchcase(group, pattern) for pattern in ONLY_WAITS):
        return [mutant for mutant in everyone if mutant.rule in WAITS]
    shifts = [mutant for mutant in everyone if mutant.rule == "shift index"]
    step = -(-len(shifts) // MOST_SHIFTS) or 1
    return [mutant for mutant in everyone if mutant.rule != "shift index"] + shifts[::step]


def chosen(group: str) -> list[Mutant]:
    """Those that are tried here: of each rule all that the sanitizer judged, or else the first ones."""
    everyone = possible(group)
    if EVERY:
        return everyone
    judged = [mutant for mutant in everyone if (group, mutant.name) in JUDGED]
    there = Counter(mutant.rule for mutant in judged)
    for mutant in everyone:
        if mutant not in judged and there[mutant.rule] < MOST.get(mutant.rule, 1):
            judged.append(mutant)
            there[mutant.rule] += 1
    return judged


def program(kernel) -> str:
    """The PTX of one kernel without line numbers."""
    text = kernel.ptx[kernel.ptx.index(f".entry {kernel.entry}(") :]
    return re.sub(r"^\s*(?:\.loc|//).*\n", "", text[: text.index("\n}")], flags=re.M)


@cache
def unchanged(group: str) -> str:
    """The PTX of a group's unchanged kernel."""
    case = groups()[group][0]
    return program(build(case, case.source))


def judge(group: str, mutant: Mutant) -> str:
    """What becomes of a mutant: "same program", "slower", "survives", or how it is found."""
    cases = groups()[group]
    try:
        kernel = build(cases[0], mutant.source)
    except CompileError:
        return "does not compile"
    if program(kernel) == unchanged(group):
        return "same program"
    for case in cases:
        if found := outcome(case.name, mutant.source).found:
            return found
    for seed in (1, 2):
        if found := outcome(cases[0].name, mutant.source, seed).found:
            return found
    case = cases[0]
    slower = outcome(case.name, mutant.source).wavefronts > outcome(case.name, case.source).wavefronts
    return "slower" if slower else "survives"


def tried() -> list[tuple[str, Mutant]]:
    """All that the sanitizer judged, and some of the others: they take three quarters of the time."""
    everyone = [(group, mutant) for group in groups() for mutant in chosen(group)]
    judged = [(group, mutant) for group, mutant in everyone if (group, mutant.name) in JUDGED]
    return judged + one_in(12, [pair for pair in everyone if pair not in judged])


MUTANTS = [pytest.param(group, mutant, id=f"{group}: {mutant.name}") for group, mutant in tried()]


@pytest.mark.parametrize(("group", "mutant"), MUTANTS)
def test_each_mistake_is_found(group, mutant):
    equivalent = [name for kernel, name, _ in EQUIVALENT if fnmatchcase(group, kernel)]
    slower = [name for kernel, name in SLOWER if fnmatchcase(group, kernel)]
    becomes = judge(group, mutant)
    if any_match(mutant.name, [*equivalent, *slower]):
        expected = "slower" if any_match(mutant.name, slower) else "survives"
        assert becomes in (expected, "slower", "same program")
    else:
        assert becomes not in ("survives", "slower", "does not compile")


OWN = [group for group in groups() if group.startswith(("fp", "producer"))]
"""Of the others test_kernels.py, test_lesson_results.py and test_lesson_kernels.py say that they are right."""


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("group", OWN)
def test_the_kernel_itself_is_right(group, seed):
    for case in groups()[group]:
        assert outcome(case.name, case.source, seed).found == ""


def test_the_list_of_equivalent_mutants_has_no_stale_line():
    names = {group: [mutant.name for mutant in mutants(cases[0].source)] for group, cases in groups().items()}
    for kernel, mutant, *_ in [*EQUIVALENT, *SLOWER]:
        fits = [group for group in names if fnmatchcase(group, kernel)]
        assert any(any_match(name, [mutant]) for group in fits for name in names[group]), (
            f"{kernel}: {mutant}"
        )


@pytest.mark.parametrize("group", groups())
def test_every_rule_that_fits_a_kernel_is_tried_on_it(group):
    assert {mutant.rule for mutant in chosen(group)} == {mutant.rule for mutant in possible(group)}


def test_every_rule_is_tried():
    assert {mutant.rule for _, mutant in tried()} == {*RULES, "shift index"}


def test_every_rule_makes_mutants_of_one_place():
    made = [(case, mutant) for group, (case, *_) in groups().items() for mutant in chosen(group)]
    assert {mutant.rule for _, mutant in made} == {*RULES, "shift index"}
    assert len(made) > 300
    for case, mutant in made:
        lines = zip(case.source.splitlines(), mutant.source.splitlines(), strict=True)
        changed = [number for number, (old, new) in enumerate(lines, 1) if old != new]
        assert changed == [*range(mutant.line, mutant.line + len(changed))] and changed, mutant.name
