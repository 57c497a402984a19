"""Time plans of `matmul` for Hopper GPUs, many more than its menu has.

`python -m research.matmul_sweep OUT [COUNT [SEED]]`

For COUNT problems, drawn at random, it times the plans that the rule expects to be fastest among all that could be
compiled.
"""

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple
from functools import partial
from multiprocessing import get_context

import numpy as np

from cupy_or_sim import device, timing
from matmul.hopper_plans import TK, HopperPlan, cost, plans
from matmul.many import product
from matmul.plans import Shape
from matmul.ready import hopper_instance, kernel_of, ready
from ptxsim.gpus import H100
from research.matmul_shapes import arrays, check_near, cublas, drawn

WIDTHS = {64: range(16, 257, 16), 128: range(32, 257, 16), 192: range(48, 193, 16)}
CLUSTERS = (
    (1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (4, 1, 1), (1, 4, 1), (4, 2, 1), (2, 4, 1),
    (1, 1, 2), (2, 1, 2), (1, 2, 2), (2, 2, 2), (4, 1, 2), (1, 1, 3), (2, 1, 3), (1, 1, 4), (2, 1, 4), (1, 2, 4),
    (1, 1, 6), (1, 1, 8),
)  # fmt: skip
EACH, REPEATS, NEAR = 24, 9, 1.35
"""Plans for a problem, at most a third of them turned; launches of each; how much slower than the best the rule may
expect one to be."""
TOGETHER = 16
"""Plans that take turns: the driver queues some thousand launches and events."""
OFTEN = 50
"""Problems after which the file is written."""
HALF = "__half"


def universe() -> Iterator[HopperPlan]:
    """All plans that fit, with as many slots as do, or half of them for two blocks on an SM."""
    for TM, widths in WIDTHS.items():
        for TN in widths:
            for cluster in CLUSTERS:
                below, across, together = cluster
                apart = TN // below % 8 or TM // across % 8 or TM // across < 16
                if apart or (TN // 8 % together if together > 1 else 0):
                    continue
                for memory in (H100.shared_block, H100.shared // 2 - H100.reserved)[: 2 if TM == 64 else 1]:
                    slots = [
                        n
                        for n in range(2, 11)
                        if HopperPlan((TM, TN), n, *cluster).shared_mem() <= memory
                        and (together == 1 or n * (TM + TN) * TK * 2 >= TM * TN * 4)
                    ]
                    if slots and (memory == H100.shared_block or slots[-1] >= 3):
                        yield HopperPlan((TM, TN), slots[-1], *cluster)
                        if TN // together % 16 == 0 and across <= 2:
                            yield HopperPlan((TM, TN), slots[-1], *cluster, turned=True)


def worth_timing(shape: Shape, among: list[HopperPlan], each: int = EACH) -> list[HopperPlan]:
    """The plans that the rule expects to be fast."""
    boxes = shape[1] % 8 == 0  # which plans that turn C need
    some = (plan for plan in plans(*shape, among) if boxes or not plan.turned)
    expected = {plan: cost(plan, *shape) for plan in dict.fromkeys(some)}
    order = sorted(expected, key=lambda plan: expected[plan])
    order = [plan for plan in order if expected[plan] <= NEAR * expected[order[0]]]
    turned = [plan for plan in order if plan.turned][: each // 3]
    upright = [plan for plan in order if not plan.turned][: each - len(turned)]
    most = each if math.prod(shape) < 2e11 else each // 3
    return sorted(turned + upright, key=lambda plan: expected[plan])[:most]


def instance_of(plan: HopperPlan, N: int) -> str:
    boxes = plan.boxable and plan.split == 1 and N % 8 == 0
    out = HALF if plan.split == 1 else "float"
    return hopper_instance(HALF, out, plan, True, True, boxes, plan.turned)


def compile_one(name: str) -> None:
    kernel_of(name)


def time_plans(shape: Shape, among: list[HopperPlan]) -> tuple[float, list[tuple[tuple, float]]]:
    """Microseconds of cuBLAS and of each plan, in turn; its result is cuBLAS's, but for the order of the sums."""
    A, B, C, D = arrays(*shape)
    theirs = cublas(A, B, C)
    theirs()
    launches: list[Callable[[], None]] = []
    for plan in among:
        one = product(A, B.T, D)
        launch = ready(plan, one.left, one.right, D)
        D.fill(np.nan)
        launch(A, B.T, D, None)
        check_near(D, C, f"{shape} by {plan}")  # of 80 x 296 x 16008 cuBLAS 13.1 itself is off by 3 % (H200)
        launches.append(partial(launch, A, B.T, D, None))
    some = [[theirs, *launches[i : i + TOGETHER]] for i in range(0, len(launches), TOGETHER)]
    times = [np.median(timing.time_in_turn(runs, REPEATS), axis=1) for runs in some]
    ours = np.concatenate([each[1:] for each in times])
    return float(np.median([each[0] for each in times])), [
        (astuple(p), float(us)) for p, us in zip(among, ours)
    ]


def main(out: str, count: int = 200, seed: int = 0) -> None:
    shapes = list(dict.fromkeys(drawn(seed, count)))
    every = list(universe())
    chosen = {shape: worth_timing(shape, every) for shape in shapes}
    names = sorted({instance_of(plan, N) for (_, N, _), each in chosen.items() for plan in each})
    print(len(every), "plans,", sum(map(len, chosen.values())), "to time,", len(names), "kernels", flush=True)
    if device.backend() != "cupy":
        return
    with ProcessPoolExecutor(os.cpu_count() or 1, mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_one, names, chunksize=4))
    print("compiled", flush=True)
    found = []
    for number, shape in enumerate(shapes, 1):
        try:
            us, times = time_plans(shape, chosen[shape])
        except (RuntimeError, SystemExit) as why:  # too slow a host for so many launches; two results
            print(shape, why, flush=True)
            continue
        found.append([shape, us, times])
        if number % OFTEN == 0 or shape == shapes[-1]:
            about = {
                "gpu": timing.name(),
                "driver": timing.provenance()["driver"],
                "date": timing.today(),
                "seed": seed,
            }
            with open(out, "w", encoding="utf-8") as file:
                json.dump(about | {"problems": found}, file)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
