"""Run the kernels of tests/kernels/newer.py on this machine's GPU and freeze the results: newer_h100.npz and .json.

    python -m research.record_newer            on an H100, with CuPy
    python -m research.record_newer --dry      anywhere: the simulator in place of the GPU, and nothing is written

Each result is first compared with the NumPy reference; what fails is not frozen, and is listed last. The files go to
the folder that the environment variable OUT names, else to tests/golden.
"""

import os
import sys
from pathlib import Path

import numpy as np

from tests.kernels.case import Case, array_of, fingerprint, mismatch
from tests.kernels.golden import FOLDER, Golden, entry, key, save
from tests.kernels.newer import CASES, FROZEN
from tools.author.frozen import provenance, run_on_gpu

Runs = tuple[dict[int, np.ndarray], str]


def run_simulated(case: Case) -> Runs:
    """As `run_on_gpu`: every array argument after the launch, and what was printed."""
    import ptxsim

    args = case.make()
    kernel = ptxsim.compile(case.source, case.kernel, case.options, case.name_expressions)
    report = ptxsim.launch(kernel, case.grid, case.block, args, case.shared_mem, cooperative=case.cooperative)
    arrays = {i: array for i, array in enumerate(map(array_of, args)) if isinstance(array, np.ndarray)}
    return arrays, report.output


def wrong_with(case: Case, arrays: dict[int, np.ndarray]) -> list[str]:
    expected = case.reference(case.make())
    found = (mismatch(case, index, array, arrays[index]) for index, array in expected.items())
    return [f"{case.name}: {words}" for words in found if words]


def main() -> int:
    dry = "--dry" in sys.argv
    golden, failures = Golden({} if dry else provenance(), {}, {}), []
    for case in CASES:
        try:
            arrays, text = (run_simulated if dry else run_on_gpu)(case)
        except Exception as error:
            failures.append(f"{case.name}: {type(error).__name__}: {error}".strip()[:500])
            continue
        if wrong := wrong_with(case, arrays):
            failures += wrong
            continue
        golden.cases[case.name] = entry(case, case.outputs(), text, fingerprint(case))
        golden.arrays.update({key(case.name, index): arrays[index] for index in case.outputs()})
    if not dry:
        save(Path(os.environ.get("OUT") or FOLDER), golden, FROZEN)
    print(f"{len(golden.cases)} of {len(CASES)} cases {'would be ' if dry else ''}frozen")
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
