"""Run the pairs on a GPU, alone and under compute-sanitizer's tools: `python -m research.record_real_bugs`.

Needs CuPy and `compute-sanitizer`; about three minutes. Writes real_bugs_<gpu>.json to the folder that the environment
variable OUT names, else to tests/golden. One launch: `... record NAME faulty|fixed [TIMES]`.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np

from tests.bugs.beside_sanitizer.pairs import PAIRS, Pair
from tests.bugs.beside_sanitizer.table import TOOLS
from tests.kernels.golden import FOLDER

TIMES = 200
"""Launches of a form without a tool."""
SECONDS = 40
AT_ONCE = 6


def run(pair: Pair, fixed: bool, times: int) -> int:
    """How many of so many launches gave wrong numbers."""
    import cupy

    # The machine code names lines; CuPy gives NVRTC the architecture, which for Hopper has an a.
    options = (*pair.options(fixed), "-lineinfo")
    kernel = cupy.RawModule(code=pair.source, options=options).get_function("k")
    wanted = np.asarray(pair.wanted(pair.arguments()))
    wrong = 0
    for _ in range(times):
        arguments = [
            cupy.asarray(each) if isinstance(each, np.ndarray) else each for each in pair.arguments()
        ]
        kernel((pair.grid,), pair.block, tuple(arguments))
        found = cupy.asnumpy(arguments[pair.output]).reshape(wanted.shape)
        wrong += not np.array_equal(found, wanted)
    return wrong


def alone(pair: Pair, fixed: bool) -> str:
    command = [sys.executable, "-m", __spec__.name, pair.name, "fixed" if fixed else "faulty", str(TIMES)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "hangs"
    last = (done.stdout + done.stderr).strip().splitlines()[-1:]
    return last[0][:200] if last else f"status {done.returncode}"


def under(tool: str, pair: Pair, fixed: bool) -> dict:
    """What a tool says of one launch: its last line, the first words of its first findings, and their lines."""
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "20"]
    if tool == "initcheck" and "--initcheck-address-space" in subprocess.getoutput(
        "compute-sanitizer --help"
    ):
        command += ["--initcheck-address-space", "all"]
    command += [sys.executable, "-m", __spec__.name, pair.name, "fixed" if fixed else "faulty", "1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"summary": "hangs", "findings": [], "lines": []}
    said = [line[10:].strip() for line in done.stdout.splitlines() if line.startswith("=========")]
    summary = [line for line in said if "SUMMARY" in line][-1:] or said[-1:] or [f"status {done.returncode}"]
    words = r"(Error|Warning|Barrier|Invalid|Race|Uninitialized|Potential|Program hit|Fatal|Divergent)"
    findings = [line for line in said if re.match(words, line)][:6]
    lines = sorted(
        {
            int(n)
            for line in said
            for n in re.findall(rf"{pair.name}\.cu:(\d+)|default_program:(\d+)|\.cu:(\d+)", line)
            for n in n
            if n
        }
    )
    return {"summary": summary[0][:160], "findings": findings, "lines": lines}


def record(pair: Pair) -> dict:
    forms = {
        form: {
            "alone": alone(pair, form == "fixed"),
            **{tool: under(tool, pair, form == "fixed") for tool in TOOLS},
        }
        for form in ("faulty", "fixed")
    }
    return {"digest": pair.digest, **forms}


def main() -> None:
    if len(sys.argv) > 1:
        name, form, times = [*sys.argv[1:], "1"][:3]
        (pair,) = (pair for pair in PAIRS if pair.name == name)
        wrong = run(pair, form == "fixed", int(times))
        print(f"wrong numbers in {wrong} of {times} launches")
        return
    import cupy

    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    version = re.search(r"Version ([\d.]+)", subprocess.getoutput("compute-sanitizer --version"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pairs = dict(zip((pair.name for pair in PAIRS), pool.map(record, PAIRS), strict=True))
    made = {
        "gpu": gpu,
        "date": date.today().isoformat(),
        "driver": subprocess.getoutput("nvidia-smi --query-gpu=driver_version --format=csv,noheader"),
        "sanitizer": version[1] if version else "",
        "cupy": cupy.__version__,
    }
    folder = Path(os.environ.get("OUT") or FOLDER)
    short = gpu.lower().replace("nvidia ", "").split()[0]
    file = folder / f"real_bugs_{short}.json"
    file.write_text(json.dumps({"made": made, "pairs": pairs}, indent=1) + "\n")
    print(file)


if __name__ == "__main__":
    main()
