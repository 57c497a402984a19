"""Where CUDA C++ stands in a Python text, as the live pages' editor has it; JupyterLab's has the same rule."""

import pytest

from tools.live.site import HERE

SHOWN = """text => {
    const { box } = new Editor(text, "a cell", () => {});
    document.body.append(box);
    return box.querySelector(".cm-has-cuda") !== null;
}"""


@pytest.mark.parametrize(
    ("text", "is_cuda"),
    [
        ('k = r"""\n__global__ void k(int* x) {}\n"""', True),
        ('k = r"""\n__device__ int one()\n"""', True),
        ('k = r"""\n__shared__ int tile[32]\n"""', True),
        ('k = r"""\nint k = __syncthreads_count(1)\n"""', True),
        ('k = """\nint k = 1;\n{}\n"""', True),
        ('k = """\nAn __init__ is no int; nor is\nthis {}\n"""', False),
    ],
)
def test_any_word_of_cuda_makes_a_string_a_kernel(open_page, text, is_cuda):
    page = open_page("about:blank")
    page.add_script_tag(path=HERE / "page" / "editor.js")
    assert page.evaluate(SHOWN, text) is is_cuda
    assert page.said == []
