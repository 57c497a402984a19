"""Whole programs: built by nvcc, run by the host, their kernels in the simulator."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ptxsim.__main__ import main
from ptxsim.program import run
from tests.rules import ROOT
from tests.sample import sample

CU = Path(__file__).parent / "cu"


@pytest.fixture
def ran(nvcc, monkeypatch, capfd):
    """Types `ptxsim run` beside the programs: exit status, what the program printed, and the report."""
    monkeypatch.chdir(CU)

    def run(*typed: str) -> tuple[int, str, str]:
        status = main(["run", *typed])
        return status, *capfd.readouterr()

    return run


def test_a_right_program(ran):
    status, printed, report = ran("add.cu")
    assert (status, printed) == (0, "PASS no error\n")
    assert "add.cu: 1 launch of 1 kernel, 4 blocks, " in report and report.endswith("s: no hazard found\n")


def test_what_a_launch_reads_makes_it_run_again(ran):
    status, printed, report = ran("again.cu")
    kinds = ("a variable", "constants", "a texture", "a pointer in memory", "cp.async")
    assert (status, printed) == (0, "".join(f"{kind} 0\n" for kind in kinds))
    assert "44 launches of 4 kernels, 44 blocks, 16 launches not run again" in report


def test_a_race_in_a_template(ran):
    status, printed, report = ran("reverse.cu", "-D", "RACE", "--json", "-")
    assert status == 1
    first, read, called, launched, _ = report.splitlines()
    assert first.startswith(
        "reverse.cu:17: read-after-write (in the function at line 8, called here) (the first of 512)"
    )
    assert read.split()[0] == "8" and called.split()[0] == "17"
    assert launched == (
        "      in reverse<float><<<1, 256>>> (launch 1, launched at reverse.cu:28), and in 1 more launch"
    )
    before, _, known = printed.partition("{")
    assert before == "done by 1\ndone by 2\nafter the kernel\n0 1020 calls 2 total 2\n"
    known = json.loads("{" + known)
    assert [each["place"] for each in known["hazards"]] == ["reverse.cu:17"]
    assert (known["status"], known["returned"], len(known["launches"])) == (1, 0, 2)


def test_mistakes_of_the_host(ran):
    status, printed, report = ran("misuse.cu", "--", "touch")
    assert (status, printed) == (1, "invalid configuration argument\ninvalid argument\n")
    places = [line for line in report.splitlines() if line.startswith(("misuse.cu:", "the host"))]
    wanted = [
        ("misuse.cu:9: out-of-bounds (the first of 28)", "element 100 of x (400 bytes, allocated at misuse.cu:15)"),
        ("misuse.cu:9: out-of-bounds (the first of 64)", "at misuse.cu:16, freed at misuse.cu:19), which was freed"),
        ("misuse.cu:9: out-of-bounds (the first of 32)", "element 0 of x, which is memory of the host"),
        ("misuse.cu:10: uninitialised-read (the first of 64)", "which nobody has written"),
        ("misuse.cu:22: the launch of wide gives cudaErrorInvalid", "at most 1024 in x, 1024 in y and 64 in z"),
        ("misuse.cu:24: cudaMemcpy gives cudaErrorInvalidValue", "800 bytes go beyond the source of 400 bytes"),
        ("misuse.cu:26: cudaFree gives cudaErrorInvalidValue", "freed before, at misuse.cu:19"),
        ("the host gives a segmentation fault", "byte 12 of memory of the device, which was allocated at misuse.cu:15"),
        ("misuse.cu: 4 launches of 2 kernels, 4 blocks", "4 hazards, 4 calls refused, the program was ended by"),
    ]  # fmt: skip
    assert len(places) == len(wanted)
    for line, (begin, words) in zip(places, wanted, strict=True):
        assert line.startswith(begin) and words in line


def test_the_program_of_the_page(nvcc, monkeypatch, capfd, tmp_path):
    """docs/programs.md has it, and what is said of it; README.md's own is in test_pages_as_typed.py."""
    page = (ROOT / "ptxsim/docs/programs.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```cuda\n(.*?)```", page, re.S)
    (shown,) = re.findall(r"```text\n(reduce.*?)```", page, re.S)
    (tmp_path / "reduce.cu").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "reduce.cu"]) == 1
    printed, report = capfd.readouterr()
    assert printed == "1024\n"
    assert re.sub(r"[\d.]+ s:", "s:", report) == re.sub(r"[\d.]+ s:", "s:", shown)


class Case(NamedTuple):
    """What is typed; what the program prints; words of the report."""

    typed: str
    printed: str
    said: str
    status: int = 0


RUNTIME = """\
NVIDIA H100 80GB HBM3, 9.0, 132 SMs, 8 blocks
110 409, 1 said
110 before, 4110 after
5 7 7 5
sum 6
time passes, a device's: 1
7 7
invalid device ordinal
"""
CHILDREN = "children.cu --option=-rdc=true -D SAFE="
LINKED = "parts.cu parts_more.cu --option=-rdc=true -D OFFSET="
TENSOR = "0\n544 1023\n0 1 0 1\n40 41 42 43\n1\n"
FUNCTIONS = "16 50\n48 25 20336\nno error\n"
CUBES = "cube: 384 of 384\n"
TEXTURES = f"as the guide says\nlayers: 32 of 32\n{CUBES}{CUBES}0 37 13 0\n254 208\n17 34 238 1\n1\n"
FILTERED = TEXTURES.replace("17 34", "invalid argument\n17 34")
STREAMS = "2 2044\n"
SMALLER = RUNTIME.replace("H100 80GB HBM3, 9.0, 132", "A100-SXM4-80GB, 8.0, 3")
REFUSED_MAP = "cuTensorMapEncodeTiled gives cudaErrorInvalidValue: a row of the box"
LIBRARIES = """\
1 0 6 2619, Not Supported
uniform 0.5 0.3
the same again: 1, error 0
normal 5.0 2.0
ranks 0 0, invalid usage
"""
DRIVER = """\
9.0 on NVIDIA H100 80GB HBM3, 1 GPU
no file 301, no kernel 500, no variable 500
1024 threads, 132 blocks
2 3 4 5
2 6 12 20
launches 2
range 4 of 16, 500
"""
TWO_GPUS = """\
2 GPUs, buses 0 1, no third: 101
peers: 1 0 704 705, 101
on GPU 1: 9 18 27
pointers: 0 1 0
"""
SEEN = "{} {} {}, {} questions, no error\n"
WAITED = {
    "stream": (3000, 3000, 32, 0),
    "device": (3000, 3000, 32, 0),
    "event": (3000, 3000, 32, 0),
    "stream-loop": (3000, 3000, 32, 1),
    "event-loop": (3000, 3000, 32, 1),
    "earlier-event": (0, 3000, 32, 0),
    "other-stream": (0, 0, 0, 0),
    "default-stream": (0, 0, 0, 0),
    "one-question": (0, 0, 0, 0),
}
"""Of late.cu: what the host sees of pinned memory, managed memory, and a managed variable; and how often it asked."""
CASES = [
    Case("gpus.cu --gpus 2", TWO_GPUS, "gpus.cu: 2 launches of 1 kernel, 2 blocks, "),
    Case(
        "gpus.cu --gpus 2 -D COUNTS",
        TWO_GPUS.partition("on")[0],
        "launched at gpus.cu:44, writes the __device__ variable",
        2,
    ),
    Case(
        "gpus.cu",
        "1 GPUs, buses 0 -1, no third: 101\n",
        " s: there was nothing to look at",
        2,
    ),
    Case("driver.cu -lcuda", DRIVER, "s: no hazard found"),
    Case("driver.cu -D TOO_FAR", DRIVER, "PTX:22: out-of-bounds (the first of 60): thread 4 of block 0", 1),
    Case("libraries.cu -lcurand -lnccl -lnvidia-ml", LIBRARIES, "s: no hazard found"),
    Case("runtime.cu", RUNTIME, "8 launches of 2 kernels, 17 blocks"),
    Case("runtime.cu --sms 3 --arch 80 --option=--default-stream=per-thread", SMALLER, "no hazard found"),
    Case("streams.cu", STREAMS, "no hazard found"),
    Case(
        "streams.cu -D NO_EVENT",
        STREAMS,
        "streams.cu:27: stream-conflict (the first of 3): the launch of scale in",
        1,
    ),
    Case(
        "streams.cu -D NO_WAIT",
        STREAMS,
        "streams.cu:31: stream-conflict: cudaMemcpy in the default stream reads",
        1,
    ),
    *(Case(f"late.cu -- {how}", SEEN.format(*seen), "no hazard found") for how, seen in WAITED.items()),
    Case(
        "late.cu -- nothing",
        SEEN.format(0, 0, 0, 0),
        "note: until cudaFree (at late.cu:54) the host did not wait for the launch of count in stream 1 (at "
        "late.cu:34), and for 2 more: before, it sees nothing of what was written",
    ),
    Case("late.cu -D SYSTEM -- nothing", SEEN.format(0, 3000, 0, 0), "no hazard found"),
    Case("late.cu -- abort", "", "until the program ended the host did not wait for the launch of count", 2),
    Case("late.cu --at-once -- nothing", SEEN.format(3000, 3000, 32, 0), "no hazard found"),
    Case("tensor.cu --arch 90a", TENSOR, REFUSED_MAP, 1),
    Case("tensor.cu --arch 90a -D NO_WAIT", TENSOR.replace("544 1023", "-nan -nan"), "unwaited-copy", 1),
    Case("functions.cu -D LATER=0", FUNCTIONS, "functions.cu: 4 launches of 4 kernels, 4 blocks, "),
    Case("functions.cu -D LATER=0 --option=-rdc=true", FUNCTIONS, "s: no hazard found"),
    Case(
        CHILDREN + "1 -D THREADS=32",
        "1: 25630\n2: 25630\nno error\n",
        "children.cu: 20 launches of 4 kernels, 21 blocks, ",
    ),
    Case(
        CHILDREN + "0 -D THREADS=64",
        "1: 25630\n2: 25630\nno error\n",
        "read-after-write (the first of 192)",
        1,
    ),
    Case(
        CHILDREN + "1 -D THREADS=2000",
        "1: 25630\n2: 25630\n",
        "wrong launches add, which CUDA refuses: a block",
        2,
    ),
    Case("textures.cu", TEXTURES, "textures.cu: 42 launches of 8 kernels, 42 blocks, "),
    Case("textures.cu -D UNSET", TEXTURES, "uninitialised-read: thread 19 of block 0 reads element 60", 1),
    Case("textures.cu -D DESTROYED", TEXTURES, "a fetch of texture object 0x28, which cudaCreateTexture", 1),
    Case("textures.cu -D FILTERS_INTEGERS", FILTERED, "cudaErrorInvalidValue: it filters integers", 1),
    Case(LINKED + "0", "8 194, 42\n", "no hazard found"),
    Case(
        LINKED + "1",
        "11 95, 42\n",
        "parts_more.cu:5: out-of-bounds (called from line 9 of the kernel's file)",
        1,
    ),
]


@pytest.mark.parametrize(
    "case", sample(CASES, lambda case: "a program"), ids=lambda case: case.typed.split()[0]
)
def test_other_programs(ran, case):
    status, printed, report = ran(*case.typed.split())
    assert (status, printed) == (case.status, case.printed)
    assert case.said in report


def test_a_host_that_waits_by_looking(ran, monkeypatch):
    """No call tells that it waits. It is shown all in the end."""
    monkeypatch.setattr(sys.modules[run.__module__], "QUIET", 0)
    status, printed, report = ran("late.cu", "--", "memory-loop")
    assert (status, printed) == (0, SEEN.format(3000, 3000, 32, 0))
    assert (
        "note: until it had asked for nothing for long the host did not wait for the launch of count"
        in report
    )


BUILT = ("-arch=compute_80", "-code=compute_80", "-g", "-lineinfo", "--cudart=shared")
READY = {
    "an executable": ("program", *BUILT),
    "an object": ("program.o", "-c", "--no-compress", "--cudart=none", *BUILT[:-1]),
    "with the runtime in it": ("program", *BUILT[:-1], "--cudart=static"),
}


@pytest.mark.parametrize("kind", sample(READY, lambda kind: "built before"))
def test_what_was_built_before(nvcc, ran, tmp_path, kind):
    name, *options = READY[kind]
    subprocess.run([nvcc.nvcc, *nvcc.more, *options, "add.cu", "-o", str(tmp_path / name)], check=True)
    status, printed, report = ran(str(tmp_path / name))
    if kind == "with the runtime in it":
        assert status == 2 and "the executable has NVIDIA's own runtime in it" in report
    elif "its PTX is compressed" in report:  # nothing here reads zstd
        assert status == 2
    else:
        assert (status, printed) == (0, "PASS no error\n")


HEAP = """#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void add(char* x) { x[threadIdx.x] += 1; }
int main() {
    int wrong = 0;
    for (int bytes = 100; bytes < 9000; bytes += 500) {
        char *before = (char*)malloc(700), *x = (char*)malloc(bytes), *behind = (char*)malloc(700);
        memset(before, 1, 700), memset(x, 2, bytes), memset(behind, 3, 700);
        cudaHostRegister(x, bytes, 0);
        add<<<1, 32>>>(x);
        cudaDeviceSynchronize();
        for (int i = 0; i < 700; ++i) wrong += before[i] != 1 || behind[i] != 3;
        for (int i = 0; i < bytes; ++i) wrong += x[i] != 2 + (i < 32);
        cudaHostUnregister(x);
        free(before), free(x), free(behind);
    }
    return printf("%d\\n", wrong) < 0;
}
"""


def test_what_lies_beside_registered_memory_stays(nvcc, tmp_path):
    """Its pages are of the heap, with what malloc knows."""
    (tmp_path / "heap.cu").write_text(HEAP)
    with open(tmp_path / "said", "w+b") as said:
        report = run(tmp_path / "heap.cu", stdout=said)
    assert report.ok, str(report)
    assert (tmp_path / "said").read_bytes() == b"0\n"


def test_a_program_runs_where_the_stack_has_no_limit(nvcc, tmp_path):
    """Its libraries lie elsewhere then."""
    text = 'ulimit -S -s unlimited && exec "$0" -m ptxsim run "$1"'
    done = subprocess.run(
        ["sh", "-c", text, sys.executable, str(CU / "add.cu")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stdout == "PASS no error\n", done.stderr
