"""Machine code by source line: what nvdisasm prints is read right, and is what it is said to be."""

import re

import pytest
from cuda import pathfinder

from course_lib import HOPPER, OPTIONS, edited, kernel_source
from course_lib.instruments import sass
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.device import BLACKWELL, options_for
from ptxsim.compiler import disassembly
from ptxsim.compiler.disassembly import control_of, parse
from tests.kernels.lesson_cases import GEMMS, OTHERS
from tests.sample import one_in

LISTING = """
	.section	.text.other,"ax",@progbits
.text.other:
	//## File "/x/kernel.cu", line 1
        /*0000*/                   EXIT ;                        /* 0x000000000000794d */
                                                                 /* 0x000fea0003800000 */
	.section	.text.k,"ax",@progbits
.text.k:
	//## File "/x/kernel.cu", line 3
        /*0000*/                   S2R R10, SR_TID.X ;           /* 0x00000000000a7919 */
                                                                 /* 0x000e6e0000002100 */
	//## File "/y/course/mma.cuh", line 11 inlined at "/x/kernel.cu", line 7
	//## File "/x/kernel.cu", line 7 inlined at "/x/kernel.cu", line 20
	//## File "/x/kernel.cu", line 20
.L_x_1:
        /*0010*/              @!P0 SHF.L.U32 R5, R10.reuse, 0x2, RZ ;  /* 0x000000020a057819 */
                                                                 /* 0x042fe400000006ff */
        /*0020*/              @P0  BRA `(.L_x_1) ;               /* 0x0000000000840947 */
                                                                 /* 0x004fc40003f04270 */
	//## File "/y/course/mma.cuh", line 12
        /*0030*/                   EXIT ;                        /* 0x000000000000794d */
                                                                 /* 0x000fea0003800000 */
.L_x_3:
        /*0040*/                   BRA `(.L_x_3);                /* 0xfffffffc00fc7947 */
                                                                 /* 0x000fc0000383ffff */
        /*0050*/                   NOP;                          /* 0x0000000000007918 */
                                                                 /* 0x000fc00000000000 */
"""


def code_of(notebook, name):
    source = kernel_source(notebook, name)
    options = options_for(source)
    kernel = cupy_on_numpy.RawKernel(source, name, options=options)
    return sass(kernel, arch="sm_100a" if options == BLACKWELL else "sm_90")


def test_a_listing_is_read_by_kernel_line_and_label():
    found = parse(LISTING, "k")
    assert [(i.address, i.opcode, i.line, i.call_line, i.target) for i in found] == [
        (0x00, "S2R", 3, None, None),
        (0x10, "SHF.L.U32", 7, 20, None),
        (0x20, "BRA", 7, 20, 0x10),
        (0x30, "EXIT", 0, None, None),
    ]
    assert found[1].text == "@!P0 SHF.L.U32 R5, R10.reuse, 0x2, RZ"
    assert len(parse(LISTING, "other")) == 1 and not parse(LISTING, "nobody")


@pytest.mark.parametrize(
    ("upper", "columns"),
    [
        (0x000FE20000000800, "B------:R-:W-:-:S01"),
        (0x000E6E0000002100, "B------:R-:W1:-:S07"),
        (0x004FC40003F04270, "B--2---:R-:W-:Y:S02"),
        (0x042FE400000006FF, "B-1----:R-:W-:-:S02"),
        (0x008FE200078EC0FF, "B---3--:R-:W-:-:S01"),
    ],
)
def test_control_words(upper, columns):
    assert str(control_of(upper)) == columns


@pytest.mark.parametrize(
    ("notebook", "name"), one_in(4, [pytest.param(*kernel, id=kernel[1]) for kernel in (*OTHERS, *GEMMS)])
)
def test_the_machine_code_of_a_lessons_kernel(notebook, name):
    """Loads set scoreboards, and nobody waits for one that no instruction sets: the words are read right."""
    code = code_of(notebook, name)
    loads = [i for i in code.instructions if re.match(r"LDS|LDG\b|LDSM|S2R", i.opcode)]
    # they return in order: the last one may do
    assert 2 * sum(i.control.writes is not None for i in loads) > len(loads)
    sets = {n for i in code.instructions for n in (i.control.writes, i.control.reads) if n is not None}
    assert {n for i in code.instructions for n in i.control.waits} <= sets
    lines = len(code.kernel.source.splitlines())
    assert all(0 <= i.line <= lines for i in code.instructions)
    assert any(i.opcode == "EXIT" for i in code.instructions)
    assert 500 < len(code._repr_html_()) < 40_000


def test_what_a_lesson_says_of_early_copy():
    """512 FMAs, copies before them, and barriers that ptxas lets loads sink below."""
    code = code_of("02_producer_consumer", "early_copy")
    assert code.count("FFMA") == code.loop.count("FFMA") == 8 * 8 * 8
    assert sum(piece.count("FFMA") for piece in code.between_barriers) == 512
    assert len(code.between_barriers) == code.count("BAR.SYNC") + 1
    assert code.count("FFMA") == sum(i.opcode in ("FFMA", "FFMA.FTZ") for i in code.instructions)


def test_the_order_of_a_loop():
    """All FMAs of the loop are counted, each behind one operation, and the copies stand in one place."""
    order = code_of("02_producer_consumer", "early_copy").loop.order
    assert sum(stretch.fma for stretch in order.stretches) == order.after("barrier") == 512
    assert [each.count for each in order.stretches if each.what == "asynchronous copies"] == [2]
    assert 0 <= order.after("asynchronous copies") < 512
    assert "  2 asynchronous copies" in repr(order) and "=" in repr(order)
    with pytest.raises(ValueError, match="has no 'loads' there; it has barrier, shared loads"):
        order.after("loads")


def test_the_instructions_of_a_line():
    code = code_of("00_start_here", "saxpy")
    number = next(
        n for n, text in enumerate(code.kernel.source.splitlines(), 1) if "y[i] = a * x[i] + y[i]" in text
    )
    assert code.at(number).instructions == code.at("y[i] = a * x[i] + y[i]").instructions
    assert code.at(number).count("FFMA") == code.at(number).count("STG") == 1
    assert not len(code.at(1).instructions)
    with pytest.raises(ValueError, match="no line of saxpy contains 'nothing of it'"):
        code.at("nothing of it")
    with pytest.raises(ValueError, match="saxpy has no loop on sm_90"):
        _ = code.loop


def test_what_stands_behind_a_barrier():
    names = {"HMMA": "mma", "LDSM": "ldmatrix"}
    ring, ahead = (code_of("05_three_stage", name).loop for name in ("ring", "three_stage"))
    assert ring.behind_barrier(names)[0][1] == "ldmatrix" and ahead.behind_barrier(names)[0][1] == "mma"
    for loop in ring, ahead:
        mma = [many for many, name in loop.behind_barrier(names) if name == "mma"]
        assert sum(mma) == loop.count("HMMA")
    with pytest.raises(ValueError, match="no barrier among"):
        code_of("00_start_here", "saxpy").behind_barrier(names)


def test_the_drawing_is_folded_escaped_and_has_no_colours():
    drawn = code_of("00_start_here", "saxpy")._repr_html_()
    assert "if (i &lt; n)" in drawn and "color" not in drawn
    assert drawn.count("<details>") == drawn.count("</summary>") > 3


def test_another_architecture():
    source = kernel_source("00_start_here", "saxpy")
    assert repr(sass(cupy_on_numpy.RawKernel(source, "saxpy", options=OPTIONS), "sm_80")).startswith(
        "saxpy on sm_80: "
    )


def test_without_nvdisasm_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pathfinder, "find_nvidia_binary_utility", lambda name: None)
    disassembly._nvdisasm.cache_clear()
    edited = kernel_source("00_start_here", "saxpy") + "// not what ships with the course"
    with pytest.raises(disassembly.NvdisasmMissing, match="pip install nvidia-cuda-nvdisasm"):
        sass(cupy_on_numpy.RawKernel(edited, "saxpy", options=OPTIONS))


def test_wgmma_that_the_compiler_serializes_are_told():
    source = kernel_source("10_attention", "ahead")
    wait, line = (
        next(line for line in source.splitlines(True) if "O and the weights are free" in line),
        "rescale(o, factor);",
    )
    too_early = edited(
        source, (f"            {line}\n            pack", "            pack"), (wait, f"{line}\n{wait}")
    )
    right, early = (
        sass(cupy_on_numpy.RawKernel(text, "ahead", options=HOPPER), "sm_90a") for text in (source, too_early)
    )
    assert not right.serialized and right.count("HGMMA") == 32 and "serialized" not in repr(right)
    assert early.serialized and repr(early).endswith("before the next: serialized by the compiler")
    one = sass(
        cupy_on_numpy.RawKernel(kernel_source("04_tensor_cores", "one_warp"), "one_warp", options=OPTIONS)
    )
    assert not one.serialized
