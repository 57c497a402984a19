"""Run every test kernel on this machine's GPU and freeze the results: h100.npz and h100.json.

    python -m tools.author.frozen

It needs CuPy and NumPy. What is frozen already and has not changed since stays, if GPU, driver and versions are the
same; `--all` runs everything again. The results are checked against the NumPy references first; what fails is not
frozen, and is listed last. The files go to the folder that the environment variable OUT names, else to tests/golden.
"""

import datetime
import multiprocessing
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from cupy_or_sim.tensor_maps import encoded
from ptxsim import TensorMap
from tests.kernels import instruction_cases
from tests.kernels.adapt import from_instruction
from tests.kernels.case import Case, array_of, fingerprint, mismatch, same_text
from tests.kernels.cases import CASES
from tests.kernels.golden import FOLDER, Golden, entry, key, load, save
from tests.kernels.lesson_cases import LESSON_CASES, lesson_case

TIMEOUT = 60  # seconds for one case, the compilation included
MOST_BYTES = 2_000_000


@cache
def all_cases() -> list[Case]:
    """Test kernels, the lessons' kernels and single instructions."""
    lessons = [lesson_case(*which) for which in LESSON_CASES]
    return [*CASES, *lessons, *(from_instruction(case) for case in instruction_cases.CASES)]


def run_on_gpu(case: Case) -> tuple[dict[int, np.ndarray], str]:
    """Launch once through CuPy; returns every array argument afterwards, and what was printed."""
    import cupy as cp

    args = case.make()
    device, passed = on_gpu(args)
    module = cp.RawModule(
        code=case.source,
        options=case.options,
        name_expressions=case.name_expressions or None,
        enable_cooperative_groups=case.cooperative,
    )
    kernel = module.get_function(case.kernel)
    if case.shared_mem > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = case.shared_mem

    def launch():
        kernel(case.grid, case.block, passed, shared_mem=case.shared_mem)
        cp.cuda.Device().synchronize()  # this also prints what the kernel printed

    text = printed_by(launch)
    arrays = {
        i: array.get().reshape(a.shape, order="C" if a.flags.c_contiguous else "F")
        for i, array in device.items()
        for a in [array_of(args[i])]
    }
    return arrays, text


def on_gpu(args: list) -> tuple[dict, tuple]:
    """Flat copies of the arrays of these arguments, those in tensor maps too; and what a launch is given."""
    import cupy as cp

    hosts = {i: a for i, a in enumerate(map(array_of, args)) if isinstance(a, np.ndarray)}
    own = {id(a): a for a in hosts.values()}  # an array can be an argument, and in a map
    copies = {place: cp.asarray(a.ravel(order="K")) for place, a in own.items()}
    device = {i: copies[id(a)] for i, a in hosts.items()}
    passed = (
        encoded(a, device[i].data.ptr) if isinstance(a, TensorMap) else device.get(i, a)
        for i, a in enumerate(args)
    )
    return device, tuple(passed)


def printed_by(launch) -> str:
    """Text that reaches file descriptor 1 during `launch()`: a kernel's printf does not go through Python."""
    sys.stdout.flush()
    keep = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            launch()
        finally:
            os.dup2(keep, 1)
            os.close(keep)
        file.seek(0)
        return file.read().decode(errors="replace")


def record(position: int) -> tuple[dict[int, np.ndarray], str, list[str]]:
    """Results to freeze and what is wrong with them, for one case. Runs in a worker process."""
    case = all_cases()[position]
    expected = case.reference(case.make())
    arrays, text = run_on_gpu(case)
    wrong = [mismatch(case, index, array, arrays[index]) for index, array in expected.items()]
    if not same_text(case.prints, text):
        wrong.append(f"printed {text!r}, expected {case.prints!r}")
    outputs = {index: arrays[index] for index in case.outputs()}
    for index in case.unordered:
        outputs[index] = np.sort(outputs[index], axis=None).reshape(outputs[index].shape)
    return outputs, text, [line for line in wrong if line]


def provenance() -> dict[str, str]:
    """Which GPU, driver and compilers gave these results. Runs in a worker process."""
    import cupy as cp
    from cupy.cuda import nvrtc, runtime

    def version(number: int) -> str:
        return f"{number // 1000}.{number % 1000 // 10}"

    return {
        "gpu": runtime.getDeviceProperties(0)["name"].decode(),
        "cuda_driver_api": version(runtime.driverGetVersion()),
        "cuda_runtime": version(runtime.runtimeGetVersion()),
        "nvrtc": "{}.{}".format(*nvrtc.getVersion()),
        "driver": driver_version(),
        "cupy": cp.__version__,
        "numpy": np.__version__,
        "date": datetime.date.today().isoformat(),
    }


def driver_version() -> str:
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
        return next(word for word in text.split() if word[0].isdigit() and "." in word)
    except (OSError, StopIteration):
        return "unknown"


def kept(facts: dict[str, str]) -> Golden:
    """The frozen results that are still those of their cases, made by the same GPU, driver and versions."""
    old = load()
    fresh = Golden(facts, {}, {})
    if old is None or "--all" in sys.argv or old.provenance | {"date": facts["date"]} != facts:
        return fresh
    for case in all_cases():
        if case.name in old.cases and old.cases[case.name]["fingerprint"] == fingerprint(case):
            fresh.cases[case.name] = old.cases[case.name]
            fresh.arrays.update({key(case.name, i): array for i, array in old.outputs(case.name).items()})
    return fresh


def main() -> int:
    cases = all_cases()
    context = multiprocessing.get_context("spawn")  # a kernel that fails can spoil its process's GPU context
    pool = context.Pool(1)
    facts = pool.apply(provenance)
    print(facts)
    golden, failures = kept(facts), []
    print(f"{len(golden.cases)} results are current")
    for position, case in enumerate(cases):
        if case.name in golden.cases:
            continue
        try:
            outputs, text, wrong = pool.apply_async(record, (position,)).get(TIMEOUT)
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}".strip()[:500]]
            pool.terminate()
            pool = context.Pool(1)
        if wrong:
            failures += [f"{case.name}: {line}" for line in wrong]
            continue
        golden.cases[case.name] = entry(case, sorted(outputs), text, fingerprint(case))
        golden.arrays.update({key(case.name, index): array for index, array in outputs.items()})
    pool.terminate()
    in_order = {case.name: golden.cases[case.name] for case in cases if case.name in golden.cases}
    golden = Golden(facts, in_order, golden.arrays)

    folder = Path(os.environ.get("OUT") or FOLDER)
    save(folder, golden)
    size = (folder / "h100.npz").stat().st_size
    print(f"{len(golden.cases)} of {len(cases)} cases frozen, {size} bytes")
    if size > MOST_BYTES:
        failures.append(f"h100.npz has {size} bytes; keep it under {MOST_BYTES} with smaller cases")
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
