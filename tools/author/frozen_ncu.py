"""Profile the micro-kernels and the lessons' kernels with Nsight Compute on this machine's GPU and freeze what it
counts: ncu_h100.json.

    python -m tools.author.frozen_ncu

It needs CuPy and `ncu`. Metrics that this ncu does not know are left out. The file goes to the folder that the
environment variable OUT names, else to tests/golden; ncu's own tables go to OUT only.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from course_lib.measure.ncu import find
from tests.kernels.case import Case
from tests.kernels.case import fingerprint as case_fingerprint
from tests.kernels.golden import FOLDER
from tests.kernels.lesson_cases import LESSON_CASES, lesson_case
from tests.kernels.micro_kernels import MICRO, Micro, fingerprint
from tools.author.frozen import provenance

PARTS = 3  # ncu runs of micro-kernels; one that fails does not take the others with it
LESSONS = PARTS  # the number of the run of lesson kernels
TIMEOUT = 120  # seconds for each

HARDWARE = [  # counted by the hardware; .sum over the whole GPU
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts",
    "l1tex__data_bank_reads",
    "l1tex__data_bank_writes",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass",
    "smsp__inst_executed",
    "smsp__inst_executed_op_ldgsts",
    "smsp__inst_executed_op_ldsm",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on",
    "sm__inst_executed_pipe_tensor_op_hmma",
    "smsp__inst_executed_pipe_tensor_op_hmma",
]
SOURCE = [  # computed by code that ncu adds to the kernel; see "source metrics" in its guide
    "inst_executed",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l1_tag_requests_global",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
]


def lessons() -> list[Case]:
    """Each lesson kernel once. Names of kernels are different ones in all lessons: ncu tells them apart by the name."""
    cases = [lesson_case(*which) for which in LESSON_CASES if which[-1] == "random"]
    assert len({case.kernel for case in cases}) == len(cases)
    return cases


def launch_all(part: int) -> None:
    """Launch every PARTS-th micro-kernel once, or the lesson kernels; this is what ncu watches."""
    import cupy as cp

    if part == LESSONS:
        for case in lessons():
            launch_case(cp, case)
        return
    mine = MICRO[part::PARTS]
    module = cp.RawModule(code="\n".join(micro.source for micro in mine), options=("--std=c++17",))
    for micro in mine:
        args = tuple(cp.asarray(array) for array in micro.make())
        module.get_function(micro.kernel)(micro.grid, micro.block, args, shared_mem=micro.shared_mem)
    cp.cuda.Device().synchronize()


def launch_case(cp, case: Case) -> None:
    """Launch it once; nothing else runs on the GPU."""
    kernel = cp.RawModule(code=case.source, options=case.options).get_function(case.kernel)
    if case.shared_mem > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = case.shared_mem
    args = [cp.asarray(a.ravel(order="K")) if isinstance(a, np.ndarray) else a for a in case.make()]
    kernel(case.grid, case.block, tuple(args), shared_mem=case.shared_mem)
    cp.cuda.Device().synchronize()


def known_metrics(ncu: str) -> list[str]:
    """Those of HARDWARE and SOURCE that this ncu knows, as it wants them."""

    def ask(*options: str) -> set[str]:
        answer = subprocess.run([ncu, *options, "--query-metrics"], capture_output=True, text=True)
        return {line.split()[0] for line in answer.stdout.splitlines() if line.split()}

    hardware, source = ask(), ask("--query-metrics-collection", "source")
    known = [f"{name}.sum" for name in HARDWARE if name in hardware]
    known += [name for name in SOURCE if name in source or not source & set(SOURCE)]
    print(
        "metrics unknown here:", sorted({*HARDWARE, *SOURCE} - {name.removesuffix(".sum") for name in known})
    )
    return known


def profile(ncu: str, metrics: list[str], part: int) -> str:
    """ncu's raw table (CSV) for one part of the kernels; with fewer metrics when it refuses some."""
    sums = ",".join(name for name in metrics if name.endswith(".sum"))
    for chosen in (["--metrics", ",".join(metrics)], ["--metrics", sums, "--section", "SourceCounters"]):
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", *chosen]
        command += [sys.executable, "-m", __spec__.name, str(part)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            print(f"part {part}: ncu took more than {TIMEOUT} s")
            continue
        if done.returncode == 0 and '"ID"' in done.stdout:
            return done.stdout[done.stdout.index('"ID"') :]
        print(f"part {part}: ncu ended with {done.returncode}\n{done.stdout[-800:]}\n{done.stderr[-800:]}")
    return ""


def counts(table: str) -> dict[str, dict[str, float]]:
    """Kernel name -> metric -> value, of one raw table."""
    rows = list(csv.reader(table.splitlines()))
    if not rows:
        return {}
    header, _units, *rest = rows
    wanted = {
        name: header.index(name) for name in [*(f"{m}.sum" for m in HARDWARE), *SOURCE] if name in header
    }
    name = header.index("Kernel Name")
    return {
        row[name].split("(")[0]: {
            metric: number(row[column]) for metric, column in wanted.items() if row[column] not in ("", "n/a")
        }
        for row in rest
        if len(row) == len(header)  # ncu's own messages are not
    }


def number(text: str) -> float | int:
    """1,234 or 1234.5; an instanced metric comes as "total (part; part; ...)"."""
    value = float(text.split()[0].replace(",", ""))
    return int(value) if value == int(value) else value


def entry(micro: Micro, counted: dict) -> dict:
    return {"fingerprint": fingerprint(micro), **counted}


def main() -> int:
    ncu = find()
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True).stdout
    facts = {**provenance(), "ncu": next(line for line in version.splitlines() if "Version" in line).strip()}
    print(ncu, facts)
    parts = range(PARTS + 1)
    for part in parts:
        launch_all(part)  # compiles, and would show an error without ncu around it
    metrics = known_metrics(ncu)
    counted: dict[str, dict] = {}
    out = Path(os.environ.get("OUT") or FOLDER)
    out.mkdir(parents=True, exist_ok=True)
    for part in parts:
        table = profile(ncu, metrics, part)
        if "OUT" in os.environ:
            (out / f"ncu_micro_{part}.csv").write_text(table, encoding="utf-8")
        counted |= counts(table)
    write(out / "ncu_h100.json", facts, counted)
    missing = [one.kernel for one in [*MICRO, *lessons()] if one.kernel not in counted]
    print(f"{len(MICRO)} micro-kernels and {len(lessons())} lesson kernels frozen, without {missing}")
    return 1 if missing else 0


def write(file: Path, facts: dict, counted: dict[str, dict]) -> None:
    """The counts by kernel, a line for each; lesson kernels under the names of their cases."""
    kernels = {micro.name: entry(micro, counted[micro.name]) for micro in MICRO if micro.name in counted}
    cases = {
        case.name: {"fingerprint": case_fingerprint(case), **counted[case.kernel]}
        for case in lessons()
        if case.kernel in counted
    }
    parts = [f'"provenance": {json.dumps(facts, indent=1)}']
    for name, entries in {"kernels": kernels, "lessons": cases}.items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in entries.items())
        parts.append(f'"{name}": {{\n{lines}\n}}')
    file.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        launch_all(int(sys.argv[1]))
    else:
        sys.exit(main())
