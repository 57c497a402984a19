"""Run the kernels of tests/kernels/tcgen05_cases.py on this machine's B200 and freeze what it gives: tcgen05_b200.npz
and .json, with which tests/ptxsim/instructions/test_tcgen05_frozen.py compares the simulator.

    python -m research.record_tcgen05            on a B200, with CuPy
    python -m research.record_tcgen05 --dry      anywhere: compiled for sm_100a, and the simulator in place of the GPU;
                                                 nothing is written

What differs from the rules of ptxsim/docs/tcgen05.md is frozen all the same, and told: that is what is to be learned.
Each kernel runs in a process of its own, and is ended after a minute. The files go to the folder that the environment
variable OUT names, else to tests/golden.
"""

import os
import sys
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from ptxsim.compiler.nvrtc import resources
from research.record_newer import Runs, run_simulated, wrong_with
from tests.kernels.case import Case, fingerprint
from tests.kernels.golden import FOLDER, Golden, entry, key, save
from tests.kernels.tcgen05_cases import CASES, FROZEN
from tools.author.frozen import provenance, run_on_gpu

MINUTE = 60
BY_NAME = {case.name: case for case in CASES}


def on_gpu(name: str) -> Runs:
    return run_on_gpu(BY_NAME[name])


def on_gpu_apart(case: Case) -> Runs:
    """A kernel that traps, or hangs, spoils no other."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply_async(on_gpu, (case.name,)).get(MINUTE)


def compiled_and_simulated(case: Case) -> Runs:
    resources(case.source, case.kernel, case.options, "sm_100a")
    return run_simulated(case)


def main() -> int:
    dry = "--dry" in sys.argv
    golden, failed, differ = Golden({} if dry else provenance(), {}, {}), [], []
    for case in CASES:
        try:
            arrays, text = (compiled_and_simulated if dry else on_gpu_apart)(case)
        except Exception as error:
            failed.append(f"{case.name}: {type(error).__name__}: {error}".strip()[:500])
            continue
        differ += wrong_with(case, arrays)
        golden.cases[case.name] = entry(case, case.outputs(), text, fingerprint(case))
        golden.arrays.update({key(case.name, index): np.asarray(arrays[index]) for index in case.outputs()})
    if not dry:
        save(Path(os.environ.get("OUT") or FOLDER), golden, FROZEN)
    print(f"{len(golden.cases)} of {len(CASES)} cases {'would be ' if dry else ''}frozen")
    for each in failed:
        print("FAILED", each)
    for each in differ:
        print("DIFFERS", each)
    return 1 if failed or differ else 0


if __name__ == "__main__":
    sys.exit(main())
