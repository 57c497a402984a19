"""The small kernels measure what they say: read in their machine code, run in the simulator, and measured once."""

import itertools
import json
from functools import cache

import pytest

from course_lib import OPTIONS
from cupy_or_sim import timing
from ptxsim.clock import measured
from ptxsim.compiler import nvrtc
from ptxsim.compiler.disassembly import SassInstruction, instructions_of
from tests.fake_gpu import RTX_3090, T4, FakeCupy, install
from tests.rules import ROOT
from tests.sample import one_in
from tools.calibrate import streams
from tools.calibrate.__main__ import compiled, launch, main, source_key
from tools.calibrate.small import SMALL, Small

MEASURED = {
    path.stem: json.loads(path.read_text())["cycles"]
    for path in sorted((ROOT / "ptxsim/rates").glob("*.json"))
}
BESIDE = 2
"""Other instructions in a loop, for each that is measured: uses of its result, additions to an address."""
LOOP = 8
"""And those of the loop itself."""


@cache
def loop_of(small: Small) -> list[SassInstruction]:
    """The instructions of its last loop, from the head to the branch back."""
    text = nvrtc.machine_code(small.source, (), OPTIONS, "sm_90a").text
    instructions = instructions_of(text, "small")
    back = [one for one in instructions if one.target is not None and one.target < one.address][-1]
    return [one for one in instructions if back.target <= one.address <= back.address]


@pytest.mark.parametrize("small", one_in(8, SMALL), ids=lambda small: small.name)
def test_the_loop_holds_so_many_of_the_instruction_and_little_else(small):
    loop = [instruction.opcode for instruction in loop_of(small)]
    wanted = set(small.opcode.split("."))
    assert sum(wanted <= set(opcode.split(".")) for opcode in loop) == small.times, loop
    assert len(loop) <= (1 + BESIDE) * small.times + LOOP, loop


@pytest.mark.parametrize("small", one_in(16, SMALL), ids=lambda small: small.name)
def test_it_runs_and_notes_the_clock(small):
    begin, end = launch(compiled(small), warps=small.warps[0], blocks=1, turns=1)[0, 0]
    assert end > begin


def test_names_are_unique():
    assert len({small.name for small in SMALL}) == len(SMALL)


@pytest.mark.parametrize("gpu", MEASURED)
def test_a_gpu_s_rates_are_of_these_kernels(gpu):
    measured = {name: entry["source"] for name, entry in MEASURED[gpu].items()}
    wanted = {small.name: source_key(small) for small in SMALL if small.name in measured or not small.hopper}
    assert measured == wanted, f"the small kernels have changed: run `make calibrate` on the {gpu}"


@pytest.mark.parametrize("gpu", MEASURED)
def test_more_warps_never_make_one_faster(gpu):
    for name, entry in MEASURED[gpu].items():
        for where in ("one SM", "all SMs"):
            cycles = list(entry.get(where, {}).values())
            assert all(b > 0.95 * a for a, b in itertools.pairwise(cycles)), (name, where, cycles)


@pytest.mark.parametrize(("gpu", "lacks"), [(RTX_3090, {"HGMMA"}), (T4, {"HGMMA", "HMMA", "LDGSTS"})])
def test_its_file_is_the_clock_of_a_gpu(gpu, lacks, tmp_path, monkeypatch, capsys):
    """Of a GPU on which every launch takes 6 cycles for each turn and warp."""

    def note(kernel, args) -> None:
        clocks, turns = args[1].reshape(-1, 2), args[3]
        clocks[:, 1] = 6 * turns * len(clocks)

    install(monkeypatch, FakeCupy(on_launch=note, gpu=gpu))
    monkeypatch.setattr(timing, "_output", lambda *command: "580.65, 1695")
    monkeypatch.setattr(streams, "LONG", 3 << 20)
    monkeypatch.setattr(streams, "SHORT", 1 << 20)
    took = {0: [5.0], 1: [15.0]}
    monkeypatch.setattr(timing, "burst", lambda run, repeats: took[next(turns) % 2])
    turns = itertools.count()
    monkeypatch.setenv("OUT", str(tmp_path))
    assert main() == 0
    assert "ptxsim.launch_cycles(..., gpu=" in capsys.readouterr().out
    (path,) = tmp_path.iterdir()
    found = json.loads(path.read_text())["cycles"].values()
    assert {small.opcode for small in SMALL} - {entry["opcode"] for entry in found} == lacks
    monkeypatch.setattr(measured, "RATES", tmp_path)
    known = measured.gpu_of(gpu.driver_name)
    costs = measured.costs_of(known)
    assert known.sms == gpu.sms and costs.clock_mhz == 1695 and costs.origin.startswith("calibrated")
    assert measured.dram_of(known).half.value == pytest.approx((2 << 20) / 10 / 1e6, abs=0.01), (
        "2 MiB more in 10 us"
    )
    assert costs.fma_interval == pytest.approx(6 * 32 / 8 / 64, abs=0.01)


def test_streams_that_take_no_longer_for_more_are_no_rate(monkeypatch):
    install(monkeypatch, FakeCupy(gpu=RTX_3090))
    monkeypatch.setattr(streams, "LONG", 3 << 20)
    monkeypatch.setattr(timing, "burst", lambda run, repeats: [5.0])
    with pytest.raises(RuntimeError, match="reads: 3 MiB took"):
        streams.rates()


def test_without_a_gpu_it_says_so(capsys):
    assert main() == 2
    assert "none that the course can use" in capsys.readouterr().err
