"""Where every cycle went: sampled on a GPU, recorded or modelled, it sums to the launch's time and names who waits."""

import re
import subprocess

import pytest

import ptxsim
from course_lib import Gemm, lesson_kernel
from course_lib.instruments import bubbles
from course_lib.instruments.bubbles import LOOKS
from course_lib.measure import ncu, samples
from cupy_or_sim import timing
from cupy_or_sim.simulate import compiled
from tests.fake_gpu import FakeCupy, install

GEMM = Gemm(4096, 4096, 4096, "float16")
SMALL = Gemm(256, 256, 256, "float16")


@pytest.fixture(scope="module")
def one_stage():
    kernel, launch = lesson_kernel("04_tensor_cores", "one_stage")
    return bubbles(kernel, GEMM, launch, model=True)


def test_the_shares_of_all_lines_are_the_launch(one_stage):
    assert sum(sum(found.values()) for found in one_stage.lines.values()) == pytest.approx(1)
    assert sum(one_stage.reasons.values()) == pytest.approx(1)
    launch = one_stage.launch
    assert launch.cycles / launch.clock_mhz / 1e3 == pytest.approx(launch.ms, rel=0.02)


def test_it_names_the_line_at_which_warps_wait_for_copies(one_stage):
    """One stage: its copies are waited for as soon as they are issued."""
    assert next(iter(one_stage.reasons)) == "copies"
    reason, share = next(iter(one_stage.at("wait").items()))
    assert reason == "copies" and share > 0.25
    assert "issues" in one_stage.at("multiply")
    with pytest.raises(ValueError, match="no line of one_stage"):
        one_stage.at("nothing like this")


def test_text_and_drawing_have_the_lines_their_bars_and_what_they_are(one_stage):
    text = repr(one_stage)
    assert text.startswith("one_stage, Gemm(M=4096") and "modelled on machine code, H100 at 1,770 MHz" in text
    assert re.search(r"\d+\.\d%  \S*c{5,}\S* .*wait", text)
    page = one_stage._repr_html_()
    assert page.count("role='img'") == len(one_stage._shown()) and "background:" in page
    assert "copies 4" in page or "copies 3" in page


def test_each_reason_has_a_look():
    assert set(LOOKS) == {*ptxsim.REASONS, samples.OTHER}
    assert set(samples.NAMES.values()) < set(ptxsim.REASONS)
    assert len({letter for letter, _ in LOOKS.values()}) == len(LOOKS)


def page(kernel):
    """What ncu prints of a kernel whose warps stand behind DEPBAR, three quarters of their time."""
    instructions = ptxsim.machine_code(compiled(kernel))
    behind = next(at for at, one in enumerate(instructions) if one.opcode.startswith("DEPBAR")) + 1
    counts = {behind: (750, 740, 10), behind + 1: (250, 0, 250)}
    lines = ['"Kernel Name","one_stage",', '"Address","Source","# Samples","stall_long_sb","stall_selected"']
    for at, one in enumerate(instructions):
        samples_of, long, selected = counts.get(at, (0, 0, 0))
        lines.append(f'"{one.address:#x}","{one.text}","{samples_of}","{long}","{selected}"')
    return "\n".join([*lines, '"0xfff0","NOP","0","0","0"'])


@pytest.fixture
def on_a_gpu(monkeypatch):
    """A GPU on which ncu prints what one says; it is a list, the last of which is printed."""
    printed = []

    def profiled(options, gemm, launches):
        assert "SourceCounters" in options and len(launches) == 1
        return subprocess.CompletedProcess([], 0, printed[-1], "")

    monkeypatch.setattr(ncu, "profiled", profiled)
    install(monkeypatch, FakeCupy({"one_stage": 613.0}))
    return printed


def test_sampled_on_a_gpu_then_replayed_elsewhere(folder, monkeypatch, on_a_gpu):
    kernel, launch = lesson_kernel("04_tensor_cores", "one_stage")
    on_a_gpu.append(page(kernel))
    path = folder / "nvidia-h100-80gb-hbm3.json"
    with monkeypatch.context() as patch:
        patch.setenv("COURSE_RECORD", str(path))
        seen = bubbles(kernel, SMALL, launch)
    said = f"on NVIDIA H100 80GB HBM3, {timing.today()}: 0.613 ms; 1,000 samples of Nsight Compute"
    assert seen.origin == f"measured now {said}" and seen.launch is None and not seen.note
    assert seen.reasons == {"copies": 0.74, "issues": 0.26}
    (reason, share), *_ = seen.at("wait").items()
    assert (reason, share) == ("copies", 0.74)
    assert f"measured now {said}" in repr(seen) and "74.0%" in seen._repr_html_()

    monkeypatch.undo()
    monkeypatch.setattr("course_lib.measure.records.FOLDER", path.parent)
    again = bubbles(kernel, SMALL, launch)
    assert again.origin == f"recorded {said}" and again.lines == seen.lines
    assert bubbles(kernel, SMALL, launch, model=True).origin.startswith("modelled on machine code")


@pytest.mark.parametrize(
    "printed, why",
    [
        ("==ERROR== ERR_NVGPUCTRPERM", "not measured now: ncu may not read the counters here"),
        (
            '"Kernel Name","one_stage",\n"Address","Source","# Samples"\n"0x0","EXIT","9"',
            "the machine code that ncu",
        ),
    ],
)
def test_where_ncu_says_nothing_it_is_modelled_and_says_why(printed, why, folder, on_a_gpu):
    kernel, launch = lesson_kernel("04_tensor_cores", "one_stage")
    on_a_gpu.append(printed)
    seen = bubbles(kernel, SMALL, launch)
    assert seen.origin.startswith("modelled on machine code, H100") and why in seen.note
    assert why in repr(seen) and why in seen._repr_html_()
