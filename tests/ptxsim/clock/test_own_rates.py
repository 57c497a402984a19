"""A GPU's own numbers: what the formulas make of `make calibrate`'s files, and what a launch makes of that."""

import json
from dataclasses import asdict, fields, replace

import numpy as np
import pytest

import ptxsim
from course_lib import OPTIONS, lesson_kernel
from cupy_or_sim.simulate import compiled
from ptxsim.clock import measured
from ptxsim.clock.costs import FMA, OF_AN_H100
from ptxsim.clock.measured import FORMULAS, calibrated, costs_of, gpu_of
from ptxsim.clock.memory import Rates
from ptxsim.clock.model import LAUNCH_US
from ptxsim.clock.operations import Exit, Math
from ptxsim.clock.sm import Stream, run
from ptxsim.gpus import H100, file_name, find_gpu
from tests.rules import ROOT
from tests.sample import one_in

OF_H200 = json.loads((ROOT / "ptxsim/rates/nvidia-h200.json").read_text())
RTX_3090 = find_gpu("RTX 3090")
A6000 = {name: value for name, value in asdict(RTX_3090).items() if name not in ("rates", "ceilings")} | {
    "name": "NVIDIA RTX A6000",
    "driver_name": "NVIDIA RTX A6000",
    "sms": 84,
}
PRODUCTS = """extern "C" __global__ void products(float* out, int n)
{
    float c[8][4] = {};
    unsigned a = threadIdx.x, b = threadIdx.x + 1;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < 8; ++j)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %5, %5}, "
                         "{%4, %5}, {%0, %1, %2, %3};"
                         : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3]) : "r"(a), "r"(b));
    for (int j = 0; j < 8; ++j) out[threadIdx.x * 8 + j] = c[j][0] + c[j][1] + c[j][2] + c[j][3];
}"""


@pytest.fixture
def rates(tmp_path, monkeypatch):
    """Write a GPU's rates file: the H200's but for `times` (small kernel -> by how much slower) and other entries."""
    monkeypatch.setattr(measured, "RATES", tmp_path)

    def write(gpu: str = RTX_3090.driver_name, times: dict | None = None, **other) -> None:
        cycles = {name: dict(entry) for name, entry in OF_H200["cycles"].items()}
        for name, by in (times or {}).items():
            for where in cycles[name].keys() & {"one SM", "all SMs"}:
                cycles[name][where] = {warps: by * one for warps, one in cycles[name][where].items()}
        text = other.pop("text", json.dumps({**OF_H200, "cycles": cycles, **other}))
        (tmp_path / file_name(gpu)).write_text(text)

    return write


def products(gpu: str, n: int = 4096) -> ptxsim.LaunchCycles:
    kernel = ptxsim.compile(PRODUCTS, "products", OPTIONS)
    return ptxsim.launch_cycles(kernel, (164,), (256,), lambda k: (None, np.int32(k)), n, gpu=gpu)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_gives_the_number_of_an_h100(name):
    """As its rounding allows; of stored values the loop, a quarter of a cycle, was left out."""
    close = {"abs": 0.25} if name == "stored_values" else {"rel": 0.02}
    assert getattr(costs_of(find_gpu("H200")), name) == pytest.approx(getattr(OF_AN_H100, name), **close)


def test_all_costs_have_a_formula_but_what_no_small_kernel_measures():
    assert {each.name for each in fields(OF_AN_H100)} - FORMULAS.keys() == {"l2_alone", "clock_mhz", "origin"}


def test_tensor_cores_that_take_twice_as_long_make_products_twice_as_slow(rates):
    rates()
    once = products("RTX 3090")
    rates(times={name: 2 for name in OF_H200["cycles"] if name.startswith("HMMA")})
    twice = products("RTX 3090")
    assert twice.cycles / once.cycles == pytest.approx(2, rel=0.1)
    assert once.origin == "calibrated 2026-11-24" and "RTX 3090 (calibrated 2026-11-24) at 1,980 MHz" in str(
        once
    )


def test_what_a_file_lacks_is_as_on_an_h100(rates):
    rates(cycles={})
    found = costs_of(RTX_3090)
    assert {name: getattr(found, name) for name in FORMULAS} == {
        name: getattr(OF_AN_H100, name) for name in FORMULAS
    }
    rates(cycles={name: one for name, one in OF_H200["cycles"].items() if not name.startswith("HGMMA")})
    assert costs_of(RTX_3090).product_interval == OF_AN_H100.product_interval


@pytest.mark.parametrize(
    "other",
    [
        {"text": "{"},
        {"text": "[]"},
        {"text": "{}"},
        {"cycles": {"IMAD": {"one SM": {"32": "many"}}}},
        {"cycles": {"IMAD": {"one SM": {"32": -1}}}},
        {"cycles": {"IMAD": 16}},
        {"provenance": {"date": "2026-11-24", "max_sm_clock_mhz": None}},
        {"provenance": {}},
    ],
)
def test_a_broken_file_is_named(rates, other):
    rates(**other)
    with pytest.raises(
        ValueError, match=r"nvidia-geforce-rtx-3090\.json is not what `make calibrate` writes"
    ):
        products("RTX 3090")


@pytest.mark.parametrize(
    ("name", "by", "says"),
    [
        ("LDG.128 in L2", 0.1, r"l2_bytes is 35\d(\.\d)?, and it is from 8 to 79 on every GPU"),
        ("LDG.128 in L2", 10, r"l2_bytes is 3\.\d+, and it is from 8 to 79"),
        ("HMMA.16816.F32, 4 sums", 10, r"tensor_interval is 61\.\d+, and 6\.15 on an H100"),
        ("LDG.32 in L2, dependent", 10, r"l2_latency is 2955, and 288 on an H100"),
    ],
)
def test_a_number_that_no_gpu_has_is_refused(rates, name, by, says):
    rates(times={name: by})
    with pytest.raises(ValueError, match=rf"is not what `make calibrate` writes \({says}"):
        costs_of(RTX_3090)


def test_a_gpu_that_nobody_named_here_is_known_by_its_file(rates):
    with pytest.raises(ValueError, match=r"no GPU 'NVIDIA RTX A6000' is known here.*`make calibrate`"):
        gpu_of("NVIDIA RTX A6000")
    rates("NVIDIA RTX A6000", limits=A6000)
    gpu = gpu_of("NVIDIA RTX A6000")
    assert (gpu.sms, gpu.arch) == (84, "sm_86") and calibrated(gpu) and not calibrated(H100)
    assert products("NVIDIA RTX A6000").gpu == gpu
    rates("NVIDIA RTX A6000", limits={"sms": 84})
    with pytest.raises(ValueError, match=r"nvidia-rtx-a6000\.json is not what"):
        gpu_of("NVIDIA RTX A6000")


def test_without_a_file_published_rates_have_to_do_or_it_says_what_is_missing(rates):
    found = costs_of(find_gpu("A100"))
    assert (found.fma_halves, found.tensor_interval, found.clock_mhz) == (1, 8, 1410)
    assert "published" in str(products("A100")) and costs_of(H100) == OF_AN_H100
    with pytest.raises(ValueError, match="RTX 4090 is not known here: `make calibrate` measures it"):
        products("RTX 4090")


def test_a_sub_core_with_one_half_of_the_fma_units_takes_one_ffma_in_two_cycles():
    streams = [Stream([*[Math(pipe=FMA, interval=2.0)] * 64, Exit()], 0)]
    assert [run(streams, Rates(costs=replace(OF_AN_H100, fma_halves=halves))).end for halves in (2, 1)] == [
        pytest.approx(65, abs=1),
        pytest.approx(128, abs=1),
    ]


def test_what_no_small_kernel_measures_is_as_recorded():
    """An empty launch, and what an SM gets of L2 while few ask: tests/golden/clock_h100.json."""
    micro = json.loads((ROOT / "tests/golden/clock_h100.json").read_text())["micro"]
    assert pytest.approx(micro["empty kernel, us"], abs=0.05) == LAUNCH_US
    assert OF_AN_H100.l2_alone == pytest.approx(max(micro["L2 bytes per cycle and SM, 16 SMs"]))


@pytest.mark.parametrize("gpu", ["A100", "RTX 3090"])
@pytest.mark.parametrize(
    ("notebook", "name"),
    one_in(3, [("05_three_stage", "ring"), ("03_double_buffer", "two_buffers"), ("01_mainloop", "mainloop")]),
)
def test_lessons_have_a_time_on_older_gpus(notebook, name, gpu):
    """No faster than the units that they are made for."""
    raw, launch = lesson_kernel(notebook, name)
    M, N, K = launch.tile
    size, target = 2048, find_gpu(gpu)
    played = ptxsim.launch_cycles(
        compiled(raw), (size // N, size // M), launch.block, lambda k: (None,) * 3 + (size, size, k * K), size // K,
        launch.shared_mem, gpu,
    )  # fmt: skip
    warps_products = size**3 / target.sms / 4
    least = (
        warps_products / 2048 * target.rates.mma.value
        if notebook[1] == "5"
        else warps_products / 32 * target.rates.fma.value
    )
    assert least < played.cycles < 4 * least


def test_what_a_gpu_cannot_run_is_said(rates):
    rates()

    def ask(notebook: str, name: str, more_shared: int) -> None:
        raw, launch = lesson_kernel(notebook, name)
        played = compiled(raw), (16, 16), launch.block, lambda k: (None,) * 3 + (4096, 4096, 32 * k), 128
        ptxsim.launch_cycles(*played, launch.shared_mem + more_shared, "RTX 3090")

    with pytest.raises(ValueError, match="no block of ring fits into an SM of a RTX 3090"):
        ask("05_three_stage", "ring", 100 << 10)
    with pytest.raises(ptxsim.CompileError, match="ring does not compile for a RTX 3090"):
        ask("07_hopper", "ring", 0)
