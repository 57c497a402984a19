"""The playground's side in Python: every kernel of the lessons is there, and its launch and arguments are read."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from course_lib.lessons import sources
from cupy_or_sim import device
from ptxsim.compiler import cache, elsewhere, nvrtc
from tests.sample import sample
from tools.live.inside import playground

ALL = playground.kernels()
COMPILED = Path(__file__).parents[3] / "course_lib" / "compiled"
BREAKS = [each for each in ALL if ":" in each["title"]]


def test_every_kernel_of_the_lessons_is_there():
    expected = [
        name for path in sources.with_kernels(sources.NOTEBOOKS) for name in sources.kernels(path.stem)
    ]
    assert [each["name"] for each in ALL if ":" not in each["title"]] == expected
    assert len(BREAKS) == len(playground.BREAKS)


@pytest.mark.parametrize(
    "given", sample(ALL, kind=lambda each: each["launch"]["kind"]), ids=lambda each: each["title"]
)
def test_a_kernel_runs_as_it_is_given_and_has_no_hazard(given):
    if ":" not in given["title"]:
        answer = playground.run(given["source"], given["name"], given["launch"], check=False)
        assert answer["blamed"] == [] and answer["ptx"] == ""
        assert not [each for each in answer["outputs"] if each["output_type"] == "error"]


@pytest.mark.parametrize("given", BREAKS, ids=lambda each: each["title"])
def test_a_break_is_blamed_and_needs_no_compiler(given, monkeypatch, tmp_path):
    """With the texts of the notebooks that the page loads for it."""

    def no_compiler():
        raise nvrtc.NvrtcMissing("none here")

    nvrtc._compile.cache_clear()
    monkeypatch.setattr(nvrtc, "_nvrtc", no_compiler)
    monkeypatch.setattr(nvrtc, "_include_paths", lambda: ())
    monkeypatch.setattr(cache, "made_by", lambda: "another machine")
    for name in given["texts"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(COMPILED / f"{name}.zip", (tmp_path / name).with_suffix(".zip"))
    monkeypatch.setattr(cache, "FOLDERS", [tmp_path])
    answer = playground.run(given["source"], given["name"], given["launch"], check=False)
    nvrtc._compile.cache_clear()
    assert answer["reports"] and "⚠" in answer["reports"][0]
    assert not [each for each in answer["outputs"] if each["output_type"] == "error"], answer["outputs"]


@pytest.mark.parametrize(
    ("line", "dtype", "shape", "first"),
    [
        ("float32 64x2 arange", np.float32, (64, 2), 0),
        ("float16 8 ones   # a remark", np.float16, (8,), 1),
        ("int32 = 0x10", np.int32, (), 16),
        ("float32 = 2.5", np.float32, (), 2.5),
    ],
)
def test_an_argument_is_a_line(line, dtype, shape, first):
    (found,) = playground.arguments_of(f"\n{line}\n")
    assert found.dtype == dtype and found.shape == shape and np.ravel(found)[0] == first


def test_a_seed_gives_the_same_numbers():
    one, same, other = playground.arguments_of("float32 9 random 1\nfloat32 9 random 1\nfloat32 9 random 2")
    assert (one == same).all() and (one != other).any()


@pytest.mark.parametrize(
    "line",
    [
        "float33 4 ones",
        "float32",
        "float32 4",
        "float32 4 many",
        "float32 = x",
        "float32 4,4 ones",
        "O 4 ones",
    ],
)
def test_what_is_no_argument_is_said_with_what_is_one(line):
    with pytest.raises(
        playground.AskedWrong, match=r"argument in line 2: .* is none\. An array is TYPE SHAPE FILL"
    ):
        playground.arguments_of(f"\n{line}")


def test_what_is_too_much_in_all_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(playground, "FILLS", {"zeros": lambda *_: pytest.fail("an array is made")})
    with pytest.raises(
        playground.AskedWrong, match=r"the arrays have 838,860,800 elements; all together .* 16,777,216"
    ):
        playground.arguments_of("float64 4194304 zeros\n" * 200)
    for line in (
        f"float32 {'x'.join('1' * 5000)} zeros",
        f"float32 {'9' * 5000} zeros",
        f"int32 = 1{'0' * 40}",
    ):
        with pytest.raises(playground.AskedWrong, match="argument in line 1"):
            playground.arguments_of(line)


@pytest.mark.parametrize("shape", ["0", "-1", "99999x99999x99999"])
def test_an_array_has_a_size_that_fits(shape):
    with pytest.raises(playground.AskedWrong, match="1 to 4,194,304 elements"):
        playground.arguments_of(f"float32 {shape} zeros")


def test_a_launch_that_cannot_be_read_is_an_output():
    given = next(each for each in ALL if each["name"] == "naive")
    answer = playground.run(given["source"], "naive", {**given["launch"], "tile": "one"}, check=False)
    assert "tile is 'one'" in answer["outputs"][-1]["text"]
    plain = {"kind": "plain", "grid": "1", "block": "32", "shared_mem": 0, "args": ""}
    assert (
        "only a GEMM has sizes"
        in playground.run(given["source"], "naive", plain, check=True)["outputs"][-1]["text"]
    )


RACY = """extern "C" __global__ void mine(const float* in, float* out)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
REPAIRED = RACY.replace("    out", "    __syncthreads();\n    out", 1)
PLAIN = {
    "kind": "plain",
    "grid": "1",
    "block": "64",
    "shared_mem": 0,
    "args": "float32 64 arange\nfloat32 64 zeros",
}


@pytest.fixture
def compiled(monkeypatch):
    """PTX of a text, from before the compiler goes; and then there is none."""
    made = {text: nvrtc.compile_ptx(text, (), device.options_for(text)).ptx for text in (RACY, REPAIRED)}
    nvrtc._compile.cache_clear()
    monkeypatch.setattr(elsewhere, "_known", {})
    monkeypatch.setattr(elsewhere, "_send", [])
    monkeypatch.setattr(nvrtc, "_fresh", lambda *_: (_ for _ in ()).throw(nvrtc.NvrtcMissing("none here")))
    yield made
    nvrtc._compile.cache_clear()


def said(answer) -> str:
    return "".join(each["text"] for each in answer["outputs"])


def test_ptx_of_a_link_is_named_beside_the_report_and_forgotten(compiled):
    """A racy text with the PTX of the repaired one."""
    text = f"{RACY}// with another's PTX"
    answer = playground.run(text, "mine", PLAIN, check=False, ptx=compiled[REPAIRED])
    assert answer["lent"] and answer["ptx"] == "", "it does not become the text's own"
    assert said(answer).startswith(playground.OF_A_LINK) and "no hazard found" in said(answer)
    again = playground.run(text, "mine", PLAIN, check=False)
    assert "none here" in said(again) and not again["lent"], "typed again, nobody knows it"
    other = playground.run(text, "mine", PLAIN, check=False, ptx=compiled[RACY])
    assert "read-after-write" in said(other), "each PTX is itself"


def test_ptx_of_a_link_gives_way_to_a_compiler(compiled):
    asked = []
    elsewhere.ask_with(
        lambda question: asked.append(question) or (200, {"ptx": compiled[RACY], "lowered": {}})
    )
    text = f"{RACY}// of a host"
    for _ in range(2):
        answer = playground.run(text, "mine", PLAIN, check=False, ptx=compiled[REPAIRED])
        assert "read-after-write" in said(answer) and playground.OF_A_LINK not in said(answer)
        assert not answer["lent"] and answer["ptx"] == compiled[RACY]
    assert len(asked) == 1
    elsewhere.ask_with(lambda _: (422, {"error": "kernel.cu(1): error: no"}))
    refused = playground.run(f"{text} 2", "mine", PLAIN, check=False, ptx=compiled[REPAIRED])
    assert "error: no" in said(refused) and not refused["lent"]


def test_ptx_of_a_link_gives_way_to_what_ships(compiled):
    given = next(each for each in ALL if each["name"] == "saxpy")
    false = compiled[REPAIRED].replace("mine", "saxpy")
    answer = playground.run(given["source"], "saxpy", given["launch"], check=False, ptx=false)
    assert not answer["lent"] and "argument 3 is now 1 3 5" in said(answer)
