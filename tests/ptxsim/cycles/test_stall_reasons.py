"""The clock on machine code against Nsight Compute: where the warps of the lessons' kernels spend their time, line by
line and by reason (tests/golden/stalls_h100.json).

`python -m tests.ptxsim.cycles.test_stall_reasons` prints how far each kernel is off, and where.
"""

import json

import pytest

import ptxsim
from course_lib.check.job import Job
from course_lib.measure import model, records
from tests.golden import record_stalls
from tests.sample import one_in

Shares = dict[tuple[int, str], float]
"""(source line, reason): share of the warps' time."""

POINTS = 0.10
REASONS = {
    "selected": "issues",
    "wait": "fixed time",
    "branch_resolving": "branch",
    "short_sb": "shared memory",
    "long_sb": "global memory",
    "barrier": "barrier",
    "math": "pipe busy",
    "gmma": "pipe busy",
    "dispatch": "register banks",
    "lg": "memory queue full",
    "mio": "memory queue full",
    "tex": "memory queue full",
    "not_selected": "another warp first",
}
"""What Nsight Compute calls the model's reasons; the others (instructions missing, drains) the model does not have."""
SAME = {"copies": "global memory", "other result": "shared memory"}
"""Reasons of the model that are one for Nsight Compute."""

FAR: dict[tuple[str, str], tuple[int, ...]] = {
    # on the GPU more loads are in flight, and integer products hold back others
    ("01_mainloop", "naive"): (9,),
    # as many warps wait there, but on the GPU more of them at the barrier before
    ("01_mainloop", "tiled"): (22,),
    # on the GPU the loads of a block's warps come at different times, and those that have theirs wait at the barrier
    ("01_mainloop", "vector_copy"): (30,),
    # how many loads from shared memory wait in line, and how many at the first FFMA or mma that needs them
    ("01_mainloop", "register_tile"): (34, 38),
    ("04_padding", "plain_tile"): (31, 37),
    # at which of its loads and FFMAs a warp loses its turn: in the model the warps of two blocks keep a rhythm
    ("02_producer_consumer", "one_buffer"): (31, 32),
    ("02_producer_consumer", "early_copy"): (41,),
    ("03_double_buffer", "two_buffers"): (32,),
    ("03_double_buffer", "double_buffer"): (45,),
    ("03_fp32_best", "fp32_best"): (28, 47),
    # on the GPU a part of the wait for the tensor cores stands at HGMMA itself, and before it
    ("07_hopper", "ring"): (38, 39),
    ("08_never_a_pause", "roles"): (51,),
    ("08_never_a_pause", "persistent"): (57,),
    ("08_never_a_pause", "cluster"): (61,),
    ("08_never_a_pause", "complete"): (62,),
}
"""(notebook, kernel): lines that are farther off."""

RECORD = json.loads((record_stalls.HERE / record_stalls.FILE).read_text(encoding="utf-8"))["kernels"]
JOBS = {place: job for place, job in record_stalls.jobs().items() if records.kernel_key(job) in RECORD}


def measured(job: Job) -> Shares:
    """As Nsight Compute counted."""
    found: Shares = {}
    for line, reasons in RECORD[records.kernel_key(job)]["lines"].items():
        for reason, share in reasons.items():
            key = int(line), REASONS.get(reason, reason)
            found[key] = found.get(key, 0.0) + share
    return found


def modelled(job: Job) -> Shares:
    """As the clock has it."""
    played = model.by_machine_code(job)
    lines = {one.address: one.line or one.call_line or 0 for one in played.instructions}
    found: Shares = {}
    for (address, number), cycles in played.spent.items():
        reason = ptxsim.REASONS[number]
        key = lines[address], SAME.get(reason, reason)
        found[key] = found.get(key, 0.0) + cycles / played.cycles
    return found


def apart(model_has: Shares, gpu_has: Shares) -> list[tuple[float, int, str]]:
    """(share that the model has more, line, reason), the largest difference first."""
    keys_of = {*model_has, *gpu_has}
    found = [(model_has.get(key, 0.0) - gpu_has.get(key, 0.0), *key) for key in keys_of]
    return sorted(found, key=lambda each: -abs(each[0]))


def test_every_kernel_with_a_recorded_speed_has_stalls():
    assert len(JOBS) == len(record_stalls.jobs()) == len(RECORD) == 30


@pytest.mark.parametrize("place", one_in(3, list(JOBS)), ids="-".join)
def test_lines_and_reasons_are_those_that_nsight_compute_counts(place):
    job, known = JOBS[place], FAR.get(place, ())
    over = [each for each in apart(modelled(job), measured(job)) if abs(each[0]) > POINTS]
    assert [each for each in over if each[1] not in known] == []
    assert {line for _, line, _ in over} == set(known), "an exception that is none any more"


def test_a_reason_at_another_line_is_seen():
    job = JOBS["05_fastest", "fastest"]
    gpu = measured(job)
    largest = max(gpu, key=lambda key: gpu[key])
    moved = dict(gpu)
    moved[largest[0] + 1, largest[1]] = moved.pop(largest)
    assert abs(apart(moved, gpu)[0][0]) > POINTS and apart(gpu, gpu)[0][0] == 0


def main() -> None:
    for (notebook, name), job in JOBS.items():
        found = apart(modelled(job), measured(job))
        over = [each for each in found if abs(each[0]) > POINTS]
        sum_of = sum(abs(more) for more, *_ in found)
        print(
            f"{notebook[:2]} {name:22} {len(over)} of {len(found)} farther than {POINTS:.0%}, sum {sum_of:.2f}; ",
            end="",
        )
        print(
            "; ".join(f"{more:+.2f} {reason}, line {line}" for more, line, reason in (over or found[:1])),
            flush=True,
        )


if __name__ == "__main__":
    main()
