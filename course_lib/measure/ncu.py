"""Nsight Compute's counters of one launch: `ncu` runs this module, which launches the kernels, and counts.

python -m course_lib.measure.ncu JOBS.json      launch each job of the file once (what `ncu` wraps)
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cupy_or_sim import device, limits, timing
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch

from ..check.job import Job
from ..check.kinds import KINDS
from ..check.problem import Problem
from . import records

TIMEOUT = 300  # seconds for all kernels of one call
_STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = {
    "time, us": "gpu__time_duration.sum",
    "SM clock, GHz": "sm__cycles_elapsed.avg.per_second",
    "cycles of an SM, thousands": "sm__cycles_elapsed.max",
    "instructions of warps, millions": "smsp__inst_executed.sum",
    "cycles with a start, %": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "FMA units busy, %": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "tensor cores busy, %": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "shared memory busy, %": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active",
    "compute throughput, %": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory throughput, %": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "bytes from L2, TB/s": "l1tex__m_xbar2l1tex_read_bytes.sum.per_second",
    "bytes from L2 per cycle and SM": "l1tex__m_xbar2l1tex_read_bytes.avg.per_cycle_elapsed",
    "sectors read in L2, millions": "lts__t_sectors_op_read.sum",
    "bytes from DRAM, GB": "dram__bytes_read.sum",
    "shared memory, million wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared memory, million wavefronts of reads": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared memory, million writes to banks": "l1tex__data_bank_writes.sum",
    "warps waiting for copies": _STALLED.format("long_scoreboard"),
    "warps waiting at the barrier": _STALLED.format("barrier"),
    "warps waiting for shared memory": _STALLED.format("short_scoreboard"),
    "warps waiting for the tensor cores": _STALLED.format("math_pipe_throttle"),
    "warps waiting a fixed time": _STALLED.format("wait"),
    "warps held back at dispatch": _STALLED.format("dispatch_stall"),
    "warps ready, another one chosen": _STALLED.format("not_selected"),
}
"""What a lesson calls it: what Nsight Compute calls it. Warps that wait: of one scheduler, per started instruction."""
UNITS = {
    "us": 1e-3,
    "GHz": 1e-9,
    "thousands": 1e-3,
    "millions": 1e-6,
    "million": 1e-6,
    "GB": 1e-9,
    "TB": 1e-12,
}
"""Words in a name: what to multiply ncu's base units (nanoseconds, bytes, hertz, counts) by."""


def collect(gemm: Problem, launches: dict[str, tuple]) -> dict[str, dict[str, float]]:
    """{label: {metric: value}} of one launch of each kernel, {label: (kernel, launch)}. Raises RuntimeError."""
    options = ("--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS.values()))
    done = profiled(options, gemm, [*launches.values()])
    if done.returncode or '"ID"' not in done.stdout:
        raise RuntimeError(f"ncu failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return dict(zip(launches, table(done.stdout), strict=True))


def profiled(options: Sequence[str], gemm: Problem, launches: list[tuple]) -> subprocess.CompletedProcess:
    """Run ncu with these options over one launch of each (kernel, launch)."""
    jobs = [
        {"code": kernel.code, "name": kernel.name, "options": kernel.options,
         "problem": [type(gemm).__name__, *gemm.given()], "launch": vars(launch)}
        for kernel, launch in launches
    ]  # fmt: skip
    names = "|".join(sorted({re.escape(job["name"]) for job in jobs}))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jobs.json"
        file.write_text(json.dumps(jobs), encoding="utf-8")
        command = [
            find(), *options, "--clock-control", "none", "--kernel-name", f"regex:^({names})$",
            sys.executable, "-m", __name__, str(file),
        ]  # fmt: skip
        here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=here)


def ncu(kernel: Kernel, gemm: Problem, launch: Launch, options: str) -> None:
    """Print what `ncu` with these options says of one launch of a kernel.

    Where ncu is installed and may count, it runs now; elsewhere what it said on a GPU is printed. A refusal is printed
    like any other answer.
    """
    job = Job.given(kernel, gemm, launch)
    key = records.text_key(options, job)
    print(f"$ ncu {options} ./gemm_app")
    text = _asked(options, job) if limits.runs_here(kernel, launch) else ""
    if text:
        about = records.about(job)
        records.remember("texts", {key: {**about, "options": options, "date": timing.today(), "text": text}})
        print(f"{timing.name()}, now\n{text}")
    elif entry := records.find("texts", key):
        print(f"recorded on {entry['gpu']}, {entry['date']}\n{entry['text']}")
    else:
        print("no record of this kernel and these options: it needs a GPU, and ncu with the right to count")


def _asked(options: str, job: Job) -> str:
    """What ncu says, but for its progress and the process; "" where it is missing or may not count."""
    try:
        done = profiled(options.split(), job.gemm, [(job.kernel, job.launch)])
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(error)
        return ""
    lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    text = "\n".join(
        line for line in lines if line and not line.startswith(("==PROF==", "[", "<frozen runpy>"))
    )
    if refused := refusal(text):
        print(refused)
        return ""
    return text


def refusal(text: str) -> str:
    """Of what ncu prints: that it may not count, in one sentence; "" where it may."""
    if "ERR_NVGPUCTRPERM" not in text:
        return ""
    return "ncu may not read the counters here: an administrator must allow it (ERR_NVGPUCTRPERM)"


def table(text: str) -> list[dict[str, float]]:
    """ncu's CSV as {metric: value} for each launch; what it does not know is left out."""
    header, _, *rows = csv.reader(text[text.index('"ID"') :].splitlines())
    places = {name: header.index(metric) for name, metric in METRICS.items() if metric in header}
    found = [{name: row[at].replace(",", "") for name, at in places.items()} for row in rows]
    return [{name: _value(text, name) for name, text in row.items() if text[:1].isdigit()} for row in found]


def _value(text: str, name: str) -> float:
    """A number in ncu's base units, in the unit that stands in the name of the metric; four digits."""
    factor = next((UNITS[word] for word in re.findall(r"\w+", name) if word in UNITS), 1.0)
    return float(f"{float(text) * factor:.4g}")


def find() -> str:
    """The path of ncu, also where it is not on the PATH. Raises RuntimeError."""
    if found := shutil.which("ncu"):
        return found
    for root in ("/usr/local", os.path.join(os.sep, "opt", "nvidia")):
        for path in sorted(Path(root).glob("**/ncu"), reverse=True):
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    raise RuntimeError("ncu was not found; it comes with the CUDA toolkit (Nsight Compute)")


def main() -> None:
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        kind, *given = job["problem"]
        gemm = KINDS[kind](*given)
        kernel = device.cp.RawKernel(job["code"], job["name"], options=tuple(job["options"]))
        launch = Launch(**job["launch"] | {"tile": tuple(job["launch"]["tile"])})
        _, run = gemm.prepare(kernel, gemm.inputs, launch)
        run()
        device.cp.cuda.Device().synchronize()


if __name__ == "__main__":
    main()
