"""Names of parameters where the source is not at hand: those of the debug information, else type and number."""

import subprocess

import numpy as np
import pytest

import ptxsim
from ptxsim.compiler import debug_names
from ptxsim.front.kernel import LaunchError

SOURCE = """
struct Deep { double* to; int n; };
extern "C" __global__ void other(int first) { }
extern "C" __global__ void fill(Deep d, unsigned long long many, const float* x, double by) {
    int i = threadIdx.x;
    if (i < d.n) d.to[i] = x[i] * by + many;
}
"""
NAMES = (("d", False), ("many", False), ("x", True), ("by", False))


@pytest.fixture
def compiled(nvcc, tmp_path):
    """PTX by nvcc, whose source is gone."""

    def of(*options: str) -> str:
        source, made = tmp_path / "gone.cu", tmp_path / "made.ptx"
        source.write_text(SOURCE)
        command = [nvcc.nvcc, *nvcc.more, "-arch=compute_90", *options, "--ptx", str(source), "-o", str(made)]
        subprocess.run(command, check=True)
        source.unlink()
        return made.read_text()

    return of


def test_the_names_of_debug_information(compiled):
    text = compiled("-G")
    assert debug_names.parameters(text, "fill") == NAMES
    assert debug_names.parameters(text, "other") == (("first", False),)
    assert ptxsim.from_ptx(text, "fill").declared == NAMES
    begin = text.index(".debug_abbrev")
    for cut in (600, 300, 40):
        short = text[: begin + cut].rpartition("\n")[0] + "\n}\n" + text[text.index(".section", begin) :]
        assert debug_names.parameters(short, "fill") in ((), NAMES)


def test_a_text_without_it(compiled):
    text = compiled("-lineinfo")
    assert debug_names.parameters(text, "fill") == ()
    kernel = ptxsim.from_ptx(text, "fill")
    assert [kernel.about(number) for number in range(4)] == [
        ("parameter 1", False),
        ("parameter 2", False),
        ("parameter 3", True),
        ("parameter 4", False),
    ]
    with pytest.raises(LaunchError, match="parameter 4 is a float of 8 bytes"):
        ptxsim.launch(kernel, 1, 1, (ptxsim.Struct(None, np.int32(0)), np.uint64(0), None, np.int32(1)))
