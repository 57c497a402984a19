"""Occupancy by the rules of the CUDA Occupancy Calculator, and what a launch takes on each GPU."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS
from ptxsim import gpus
from ptxsim.compiler import nvrtc
from ptxsim.front.occupancy import launch_resources, occupancy
from ptxsim.gpus import GPUS, RANGES, Gpu, Sourced, file_name, find_gpu
from tests.kernels import pipelined

KB = 1024


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks"),
    [
        (256, 48, 8 * KB, 5),  # fp32_s1 and the next ones: resident blocks as an H100's driver gave them
        (256, 51, 16 * KB, 4),
        (256, 48, 24 * KB, 5),
        (256, 51, 32 * KB, 4),
        (256, 62, 40 * KB, 4),
        (128, 166, 16 * KB, 3),
        (128, 168, 32 * KB, 3),
        (128, 168, 48 * KB, 3),
        (128, 168, 64 * KB, 3),
        (128, 168, 80 * KB, 2),
    ],
)
def test_blocks_of_the_pipelined_products_as_on_an_h100(threads, registers, shared, blocks):
    assert occupancy(find_gpu("H100"), threads, registers, shared).blocks == blocks


# By hand, with the numbers of each GPU's SM: 65,536 registers in quarters of 16,384.
BY_HAND = [
    ("T4", 256, 32, 0, 4, "warps"),  # 32 warps / 8
    ("T4", 32, 16, 0, 16, "blocks"),
    ("T4", 128, 32, 9 * KB, 7, "shared memory"),  # 64 / 9
    ("T4", 128, 32, 9 * KB + 1, 6, "shared memory"),  # rounded up to a multiple of 256 bytes, 64 / 9.25
    ("A100", 256, 32, 0, 8, "warps and registers"),  # 1024 registers a warp: 16 in each quarter
    ("A100", 256, 33, 0, 6, "registers"),  # 33 * 32 becomes 1280: 12 in each quarter, 48 / 8
    ("A100", 96, 33, 0, 16, "registers"),  # 48 / 3; without the quarters 51 / 3
    ("A100", 96, 255, 0, 2, "registers"),  # 8192 a warp: 2 in each quarter, 8 / 3
    ("A100", 1024, 64, 0, 1, "registers"),
    ("A100", 1024, 65, 0, 0, "registers"),  # more than the SM has
    ("A100", 32, 16, 0, 32, "blocks"),
    ("A100", 64, 16, 163 * KB, 1, "shared memory"),
    ("A100", 64, 16, 163 * KB + 1, 0, "shared memory"),
    ("RTX 3090", 256, 40, 0, 6, "warps and registers"),  # 48 warps / 8
    ("RTX 3090", 32, 16, 0, 16, "blocks"),
    ("RTX 3090", 128, 32, 49 * KB, 2, "shared memory"),  # 100 / (49 + 1)
    ("RTX 3090", 128, 32, 49 * KB + 1, 1, "shared memory"),  # rounded up to a multiple of 128 bytes
    ("RTX 4090", 32, 16, 0, 24, "blocks"),
    ("RTX 4090", 1024, 16, 0, 1, "warps"),  # 48 / 32
    ("H100", 33, 16, 0, 32, "warps and blocks"),  # 2 warps, the second with one thread
    ("H100", 1024, 32, 113 * KB, 2, "warps and registers and shared memory"),
    ("H100", 1024, 32, 114 * KB, 1, "shared memory"),  # each block costs 1 KB more
    ("H100", 1024, 32, 227 * KB, 1, "shared memory"),
]


@pytest.mark.parametrize(("gpu", "threads", "registers", "shared", "blocks", "limit"), BY_HAND)
def test_occupancy_by_hand(gpu, threads, registers, shared, blocks, limit):
    fit = occupancy(find_gpu(gpu), threads, registers, shared)
    assert (fit.blocks, fit.limit) == (blocks, limit)
    assert fit.warps == blocks * -(-threads // 32)
    assert fit.share == fit.warps / find_gpu(gpu).warps


def test_a_gpu_is_found_by_name_and_by_architecture():
    assert find_gpu("RTX 3090") is find_gpu("sm_86") is GPUS["RTX 3090"]
    with pytest.raises(ValueError, match=r"no GPU 'B300' is known here; name one of .*\"H100\" or \"sm_90\""):
        find_gpu("B300")
    assert find_gpu("sm_90").name == "H100" and find_gpu("NVIDIA H200") is GPUS["H200"]


WITH_RATES = [gpu for gpu in GPUS.values() if gpu.rates]


@pytest.mark.parametrize("gpu", WITH_RATES, ids=lambda gpu: gpu.name)
def test_each_rate_says_how_it_is_known_and_where_it_stands(gpu):
    for name in RANGES:
        known = getattr(gpu.rates, name)
        assert known.how in ("measured", "published", "assumed") and known.where, name


@pytest.mark.parametrize("by", [10, 0.1])
@pytest.mark.parametrize("name", ["fma", "l2_bytes", "l2_alone"])
@pytest.mark.parametrize("gpu", WITH_RATES, ids=lambda gpu: gpu.name)
def test_a_rate_that_is_ten_times_off_is_refused(gpu, name, by):
    """But for tensor cores, which differ as much from one GPU to another."""
    known = getattr(gpu.rates, name)
    with pytest.raises(ValueError, match=f"{name} is .*, and it is from"):
        replace(gpu.rates, **{name: replace(known, value=by * known.value)})


def test_a_rate_without_a_source_is_refused():
    with pytest.raises(ValueError, match=r"l2_bytes is 24: each rate is Sourced\("):
        replace(GPUS["RTX 3090"].rates, l2_bytes=24)


OF_AN_SM = ("warps", "blocks", "shared", "shared_block", "reserved", "shared_unit")
"""One architecture, one number: the table of compute capabilities has it."""
OF_WHITE_PAPERS = ("sms", "l2")


def without_a_source(text: str) -> list[str]:
    """Numbers of GPUs whose lines name no source, and of which the docstring of gpus.py names none."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    gpus = [call for call in calls if ast.unparse(call.func) in ("Gpu", "replace")]
    lines = text.splitlines()
    return [
        f"{ast.literal_eval(call.keywords[0].value)}: {each.arg} = {ast.unparse(each.value)}"
        for call in gpus
        for each in call.keywords
        if each.arg not in (*OF_AN_SM, *OF_WHITE_PAPERS)
        and not re.search("[a-zA-Z]", ast.unparse(each.value))
        and not re.search(r"# [MPA]: \w", lines[each.value.lineno - 1])
    ]


def test_each_number_of_a_gpu_names_its_source():
    text = Path(gpus.__file__).read_text(encoding="utf-8")
    assert without_a_source(text) == [], "behind the number: # M, P or A (measured, published, assumed): what"
    assert without_a_source(text.replace("1410,  # P: boost", "1410,")) == ["A100: clock_mhz = 1410"]


def test_gpus_of_one_architecture_have_the_same_sm():
    known: dict[str, dict[str, int]] = {}
    for gpu in GPUS.values():
        limits = {name: getattr(gpu, name) for name in OF_AN_SM}
        assert known.setdefault(gpu.arch, limits) == limits, gpu.name


def test_the_page_about_the_clock_names_the_gpus():
    """Whose costs are published, and of whom there are none; what was calibrated has a file."""
    page = Path(gpus.__file__).with_name("docs") / "clock.md"
    rows = re.findall(r"^\| (.*) without a file \| (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    said = {what: {*re.split(", | and ", names)} for names, what in rows}
    files = {path.stem for path in Path(gpus.__file__).with_name("rates").glob("*.json")}
    unknown = {
        gpu.name
        for gpu in GPUS.values()
        if not gpu.rates and gpu.name != "H100" and Path(file_name(gpu.driver_name)).stem not in files
    }
    wanted = {"published": {gpu.name for gpu in WITH_RATES}, "none": unknown | {"unknown ones"}}
    assert said == wanted, f"the last table of ptxsim/docs/{page.name}"


def beyond(gpu: Gpu) -> dict[str, float]:
    """What this GPU's ceilings and limits say that no GPU has, by name."""
    cycles = gpu.sms * gpu.clock_mhz * 1e6 or 1.0
    most = {"float32": 256, "float16": 4096}  # FLOP of an SM in a cycle: an H100's units
    found = {dtype: value * 1e12 / cycles / most[dtype] for dtype, (value, _) in gpu.ceilings.math.items()}
    found |= {level: value * 1e12 / cycles / 64 for level, value in gpu.ceilings.memory.items()}
    found |= {"L2's size": gpu.l2 / (128 << 20), "clock": gpu.clock_mhz / 3000}
    return {name: part for name, part in found.items() if part > 1.005}


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_no_ceiling_is_higher_than_what_an_sm_can_take(gpu):
    assert beyond(gpu) == {}


def test_ten_times_an_h100_s_l2_is_refused():
    h100 = GPUS["H100"]
    more = replace(h100.ceilings, memory={"DRAM": 2.85, "L2": 68.4}, math={"float16": (6480, "")})
    assert beyond(replace(h100, ceilings=more, l2=500 << 20)).keys() == {
        "L2",
        "L2's size",
        "float16",
    }


def test_l2_of_a_new_gpu_that_is_ten_times_too_fast_is_refused():
    """As somebody wrote of an L40S: 86 TB/s together."""
    with pytest.raises(ValueError, match="l2_bytes is 240, and it is from 8 to 79 on every GPU"):
        replace(GPUS["RTX 3090"].rates, l2_bytes=Sourced(240, "assumed", "an L40S"))


PLAIN = r"""
extern "C" __global__ void copy(const float* in, float* out)
{
    __shared__ float tile[256];
    extern __shared__ float more[];
    tile[threadIdx.x] = in[threadIdx.x];
    more[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x] + more[threadIdx.x];
}
"""


@pytest.fixture
def report():
    args = [np.zeros(256, np.float32), np.zeros(256, np.float32)]
    return ptxsim.launch(ptxsim.compile(PLAIN, "copy"), (1,), (256,), args, shared_mem=20 * KB)


def test_a_report_knows_what_the_launch_takes(report):
    taken = report.resources
    assert taken.gpu.name == "H100"
    assert 4 <= taken.registers <= 32
    assert (taken.spills, taken.static_shared, taken.dynamic_shared) == (0, KB, 20 * KB)
    assert (taken.occupancy.blocks, taken.occupancy.limit) == (8, "warps")  # shared memory would do for 10
    assert repr(taken).startswith("H100 (sm_90): ")
    assert "no spills, 1,024 + 20,480 bytes of shared memory (static + dynamic); 8 blocks on" in repr(taken)
    assert "(64 of 64 warps, 100%), limited by warps" in repr(taken)


@pytest.mark.parametrize("gpu", GPUS)
def test_every_gpu_can_be_asked(report, gpu):
    shared = {
        "sm_75": 3,
        "sm_80": 7,
        "sm_86": 4,
        "sm_89": 4,
        "sm_90": 8,
        "sm_100": 8,
    }  # 64 / 21, 164 / 22, 100 / 22, ...
    assert report.resources_on(gpu).occupancy.blocks == shared[find_gpu(gpu).arch]


def test_resources_are_compiled_when_asked_for_only(report, monkeypatch):
    asked = []
    monkeypatch.setattr(nvrtc, "resources", lambda *args: asked.append(args) or 1 / 0)
    args = [np.zeros(256, np.float32), np.zeros(256, np.float32)]
    again = ptxsim.launch(report.kernel, (1,), (256,), args, shared_mem=20 * KB)
    assert repr(again) and str(again) and again._repr_html_() and not asked
    with pytest.raises(ZeroDivisionError):
        _ = again.resources


SPILLS = r"""
extern "C" __global__ void __launch_bounds__(1024, 2) many(const float* in, float* out)
{
    float x[64];
    for (int i = 0; i < 64; ++i) x[i] = in[threadIdx.x + 1024 * i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) out[threadIdx.x + 1024 * i] = x[63 - i];
}
"""


def test_spills_are_said():
    taken = launch_resources("H100", ptxsim.compile(SPILLS, "many"), 1024, 0)
    assert taken.registers <= 32 and taken.spills > 0
    assert f"{taken.spills} bytes of spills" in repr(taken)
    assert taken.occupancy.blocks == 2


def test_asynchronous_copies_do_not_compile_for_a_t4():
    case = pipelined.gemm_fp32(2)
    kernel = ptxsim.compile(case.source, case.kernel, OPTIONS)
    words = r"gemm_fp32 does not compile for a T4 \(sm_75\): Feature 'cp\.async' requires .target sm_80"
    with pytest.raises(ptxsim.CompileError, match=words) as refusal:
        launch_resources("T4", kernel, 256, 0)
    assert "\n" not in str(refusal.value)
    for gpu in ("A100", "RTX 3090", "RTX 4090", "H100"):
        taken = launch_resources(gpu, kernel, 256, 0)
        assert (taken.occupancy.blocks, taken.static_shared) == (4, 16 * KB), gpu  # launch bounds ask for 4
