"""Whole programs of others as judges, built by nvcc and run by `ptxsim run`: those with planted faults, those of
ptxsim/docs/public_programs.csv, and those of twelve repositories. As in suites.py, {case: verdict}, or None where no
checkout is there.
"""

import csv
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.rules import ROOT
from tools.author import planted
from tools.author.suites import RIGHT, Verdicts

SECONDS = 600
"""For a program. The longest, over CUTLASS's templates, are compiled in four minutes on an idle core."""
PAGE = ROOT / "ptxsim" / "docs" / "public-programs.md"
DATA = PAGE.with_name("public_programs.csv")
INCLUDE: dict[str, list[str]] = {
    "NVIDIA/cuda-samples": ["Common"],
    "NVIDIA/cutlass": ["include", "tools/util/include", "examples/common"],
    "NVIDIA/cccl": ["thrust", "cub", "libcudacxx/include", "c2h/include", "../catchorg+Catch2/src"],
    "zjin-lcf/HeCBench": ["src/include"],
}
TWELVE = (
    "CoffeeBeforeArch/cuda_programming",
    "olcf/cuda-training-series",
    "RussWong/CUDATutorial",
    "Infatoshi/cuda-course",
    "NVIDIA-developer-blog/code-samples",
    "a-hamdi/GPU",
    "brucefan1983/CUDA-Programming",
    "Liu-xiandong/How_to_optimize_in_GPU",
    "gpu-mode/lectures",
    "karpathy/llm.c",
    "xlite-dev/LeetCUDA",
    "gau-nernst/learn-cuda",
)
MAIN = re.compile(r"\bmain\s*\(")
DEFINE = {"yuhc/gpu-rodinia": ["cudaThreadSynchronize=cudaDeviceSynchronize"]}
OPTIONS = {
    "48_hopper_warp_specialized_gemm": ["--arch", "90a", "--option=--expt-relaxed-constexpr"],
    "cudaOpenMP": ["-l", "gomp"],
    "cute_wgmma_sm90": ["--arch", "90a"],
    "gaussian": ["-D", "clockRate=major", "-D", "deviceOverlap=minor"],
    "lud": ["-I", "../common"],
}
"""Of single programs: a library, instructions of Hopper alone, what its own build asks of nvcc, names that CUDA 13 has
no more, a folder of headers."""
CONFIG = "catch2/catch_user_config.hpp"
"""What CMake makes of Catch2, whose headers the examples of CUB bring in and do not use: empty will do."""
FILES = {
    "backprop": ["backprop_cuda.cu", "backprop.c", "facetrain.c", "imagenet.c"],
    "cub_block_reduce": ["example_block_reduce.cu"],
    "cub_block_scan": ["example_block_scan.cu"],
    "cute_sgemm_1": ["sgemm_1.cu"],
    "cute_sgemm_sm80": ["sgemm_sm80.cu"],
    "cute_tiled_copy": ["tiled_copy.cu"],
    "cute_wgmma_sm90": ["wgmma_sm90.cu"],
    "lud": ["lud.cu", "lud_kernel.cu", "../common/common.c"],
    "thrust_histogram": ["histogram.cu"],
    "thrust_norm": ["norm.cu"],
    "thrust_sort": ["sort.cu"],
    "thrust_sum": ["sum.cu"],
}
"""Of those that lie beside other programs, or whose host's part is in C."""


NOTHING: dict = {"hazards": [], "conflicts": []}


class Listed(NamedTuple):
    """A row of public_programs.csv."""

    repository: str
    name: str
    folder: str
    arguments: str
    ran: bool
    findings: int
    found: str


def listed() -> list[Listed]:
    """The programs of the list, and what became of them when it was written."""
    with DATA.open(encoding="utf-8", newline="") as file:
        return [
            Listed(
                row["repository"], row["program"], row["folder"], row["arguments"], row["ran"] == "yes",
                int(row["findings"]), row["what was found"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


def public_programs(folder: Path, into: Path) -> Verdicts | None:
    """Whole programs as they are: each runs to its end and has as many findings as the list says.

    Of 77 that ran those whose repository is there. Needs nvcc and g++, and half an hour.
    """
    there = [
        each for each in listed() if each.ran and (_there(folder, each.repository) / each.folder).is_dir()
    ]
    (into / CONFIG).parent.mkdir(parents=True, exist_ok=True)
    (into / CONFIG).touch()
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda each: _listed(folder, into, each), there))
    return dict(zip((each.name for each in there), said, strict=True)) or None


def _there(folder: Path, repository: str) -> Path:
    return folder / repository.replace("/", "+")


def _listed(folder: Path, into: Path, program: Listed) -> str:
    checkout = _there(folder, program.repository)
    here = checkout / program.folder
    words = program.arguments.split()
    options, arguments = (words[:2], words[3:]) if words[:1] == ["--sms"] else ([], words)
    given = [
        *("-I", str(into)),
        *OPTIONS.get(program.name, ()),
        *(word for each in INCLUDE.get(program.repository, ()) for word in ("-I", str(checkout / each))),
        *(word for each in DEFINE.get(program.repository, ()) for word in ("-D", each)),
        *("--limit", "60", *options, "--", *arguments),
    ]  # fmt: skip
    report = _report(here, _files(here, program.name), given, into / f"{program.name}.json", SECONDS)
    if report["stopped"]:
        return report["stopped"]
    findings = len(report["hazards"]) + len(report["conflicts"])
    return RIGHT if findings == program.findings else f"{findings} findings, were {program.findings}"


def in_repositories(folder: Path, into: Path) -> Verdicts | None:
    """Each file with a `main` of the twelve repositories, as it is: a case for each kind that is reported in it.

    What was not reported the last time is worse, and so is a case that is missing. Most of these files are lessons,
    and sizes stand in their text: many end at the limits, with what was found by then. Needs nvcc and g++, and half
    an hour.
    """
    there = [
        path
        for repository in TWELVE
        for path in sorted(_there(folder, repository).rglob("*.cu"))
        if MAIN.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    with ThreadPoolExecutor(2) as pool:
        kinds = list(pool.map(lambda path: _kinds(path, into / f"{there.index(path)}.json"), there))
    found: Verdicts = {}
    for path, reported in zip(there, kinds, strict=True):
        name = path.relative_to(folder).as_posix()
        found |= {f"{name}: {kind}": "reported" for kind in reported} or {name: RIGHT}
    return found or None


def _kinds(path: Path, into: Path) -> list[str]:
    report = _report(path.parent, [path.name], ["--limit", "10"], into, 60)
    return sorted({hazard["kind"] for hazard in report["hazards"]} - {"step-limit"})


def _report(folder: Path, files: list[str], given: list[str], into: Path, seconds: float) -> dict:
    """The report of `ptxsim run`; where it wrote none, why, and no findings."""
    command = [sys.executable, "-m", "ptxsim", "run", *files, "--json", str(into), *given]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=env
        )
    except subprocess.TimeoutExpired:
        return NOTHING | {"stopped": f"no report after {seconds} s"}
    if into.exists():
        return json.loads(into.read_text(encoding="utf-8"))
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return NOTHING | {"stopped": f"no report: {said[-1][:200] if said else f'status {done.returncode}'}"}


def _files(folder: Path, name: str) -> list[str]:
    """The program's own file, or all that no other includes; and beside it the host's."""
    if name in FILES:
        return FILES[name]
    own = [folder / f"{name}.cu"]
    if not own[0].is_file():
        every = sorted(folder.glob("*.cu"))
        texts = "".join(path.read_text(encoding="utf-8", errors="replace") for path in every)
        own = [path for path in every if f'"{path.name}"' not in texts]
    return [path.name for path in (*own, *sorted(folder.glob("*.cpp")))]


def planted_faults(folder: Path, into: Path) -> Verdicts | None:
    """Whole programs, each right and with one fault: `ptxsim run` reports what it reported when it was frozen.

    Of forty those whose repository is there. Needs nvcc and g++, and a quarter of an hour.
    """
    there = [fault for fault in planted.faults() if (folder / fault.checkout).is_dir()]
    if not there:
        return None
    planted.prepare(folder, into, there)
    runs = [(fault, version) for fault in there for version in planted.VERSIONS]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda run: _planted(into, *run), runs))
    return {f"{fault.short}, {version}": each for (fault, version), each in zip(runs, said, strict=True)}


def _planted(folder: Path, fault: planted.Fault, version: str) -> str:
    now = set(planted.run(folder, fault, version)["reports"])
    before = set(planted.frozen()[fault.short][version]["ptxsim"]["reports"])
    return RIGHT if now == before else f"{sorted(now)}, was {sorted(before)}"
