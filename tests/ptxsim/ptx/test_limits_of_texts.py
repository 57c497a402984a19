"""PTX that asks for more than there is, or is cut: refused in words, at once, before anything is made of it."""

import time

import numpy as np
import pytest

import ptxsim
from ptxsim import LaunchError
from ptxsim.ptx import limits

REGISTERS = ".reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p<3>;"
CALLS = 150
SECONDS = 3
"""Of CPU time. Each takes some 0.1 where nothing else runs; without its limit most take ten times as long as this."""


def ptx(
    body: str, registers: str = REGISTERS, before: str = "", parameters: str = ".param .u64 k_param_0"
) -> str:
    head = f".version 8.0\n.target sm_80\n.address_size 64\n{before}"
    return f"{head}.visible .entry k({parameters})\n{{\n{registers}\n{body}\nret;\n}}\n"


CHAIN = "".join(f".func f{n}(){{\ncall f{n + 1};\nret;\n}}\n" for n in range(CALLS))
REFUSED = {
    "registers": (ptx("", ".reg .b32 %r<2000000000>;"), "declares 2,000,000,000 registers.*at most 100,000"),
    "registers of several kinds": (ptx("", ".reg .b32 %r<150000>;\n.reg .b64 %d<150000>;"), "300,000 registers"),
    "registers of a function called often": (
        ptx("call f;\n" * 1000, before=".func f(){\n.reg .b32 %r<1000>;\nret;\n}\n"),
        "registers, and the simulator takes",
    ),
    "a number of registers": (ptx("", f".reg .b32 %r<{'9' * 26}>;"), "a whole number of at most 64 bits"),
    "no number of registers": (ptx("", ".reg .b32 %r<x>;"), "'x' stands where PTX has a whole number"),
    "a type of registers": (ptx("", ".reg .b33 %r<2>;"), "type 'b33'"),
    "braces": (ptx("{" * 100_000 + "}" * 100_000), "more than 100 braces"),
    "braces of an operand": (ptx(f"mov.b64 %rd1, {'{' * 100_000}%r1{'}' * 100_000};"), "more than 100 braces"),
    "negations": (ptx(f"@%p1 and.pred %p2, {'!' * 100_000}%p1, %p1;"), "'!' is no register"),
    "calls": (ptx("call f0;", before=f"{CHAIN}.func f{CALLS}(){{ ret; }}\n"), "calls of functions"),
    "a number": (ptx(f"mov.u32 %r1, {'9' * 100_000};"), r"\(100,000 characters\) is no number that PTX has"),
    "a number of 5,000 hexadecimal digits": (ptx(f"mov.u32 %r1, 0x{'f' * 5000};"), "is no number that PTX has"),
    "digits of a float": (ptx("mov.f32 %r1, 0fZZ;"), "'0fZZ' is no number that PTX has"),
    "an offset": (ptx(f"ld.global.u32 %r1, [%rd1+{'9' * 5000}];"), "a whole number of at most 64 bits"),
    "a line": (ptx(f".loc 1 {'9' * 5000} 1\nmov.u32 %r1, 1;"), "a whole number of at most 64 bits"),
    "global memory": (ptx("", before=".global .b8 g[9999999999999];\n"), "9,999,999,999,999 bytes.*268,435,456"),
    "constant memory": (ptx("", before=".const .b8 g[300000000];\n"), "300,000,000 bytes"),
    "parameters": (ptx("", parameters=".param .b8 p[9999999999]"), "9,999,999,999 bytes.*at most 32,764"),
    "an alignment": (ptx("", before=f".global .align {1 << 62} .b8 g[8];\n"), "'g' is aligned.* at most 65,536"),
    "an odd alignment": (ptx(".shared .align 3 .b8 s[8];"), "'s' is aligned to 3 bytes; .*power of two"),
    "a cluster": (ptx("").replace(")\n{", f")\n.reqnctapercluster {'9' * 30}\n{{"), "a whole number of"),
    "an end": (ptx("mov.u32 %r1, 1;")[:-10], "is not whole"),
    "an end in a statement": (ptx("").partition("ret")[0] + "mov.u32 %r1", "is not whole"),
    "a statement": (ptx("ld.global.u32 %r1, [%rd1;"), "not whole: '%r1 , \\[ %rd1'"),
    "barriers": (ptx("AGAIN :\n" + "@%p1 bra AGAIN;\nbar.sync 0;\n" * 1000), "so many barriers and branches"),
    "a guard": (ptx("@%rd9 mov.u32 %r1, 1;"), "'%rd9' is no register"),
    "a jump": (ptx("bra nowhere;"), "'nowhere' is no variable, no label and no function"),
    "a call's arguments": (ptx("call f, (%r9);", before=".func f(.param .b32 a){ ret; }\n"), "does an assembler"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_asks_for_too_much_is_refused_at_once(text, words):
    begin = time.thread_time()
    with pytest.raises(LaunchError, match=words) as error:
        ptxsim.from_ptx(text, "k")
    assert time.thread_time() - begin < SECONDS
    assert len(str(error.value)) < 400


def test_a_text_with_many_registers_is_read_in_time_that_grows_with_it():
    listed = ", ".join(f"a{n}" for n in range(20_000))
    begin = time.thread_time()
    kernel = ptxsim.from_ptx(ptx("mov.b32 a19999, 1;", f".reg .b32 {listed};"))
    assert kernel.code.program.register_bits == (32,) * 20_000
    assert time.thread_time() - begin < SECONDS
    assert ptxsim.from_ptx(ptx("", f".reg .b32 %r<{limits.MOST_REGISTERS}>;")).code.program.register_bits


def test_shared_memory_is_refused_before_it_is_made():
    kernel = ptxsim.from_ptx(ptx(".shared .align 8 .b8 s[99999999999999];\nmov.u32 %r1, 1;"))
    with pytest.raises(LaunchError, match="take 99999999999999 bytes"):
        ptxsim.launch(kernel, (1,), (64,), (np.zeros(1, np.int32),))


@pytest.mark.parametrize(
    "statement", ["mov.u32 %r1;", "bra 3;", "add.u32 %r1, %r2, %r3, %r4;", "st.global.u32 [%rd1];"]
)
def test_operands_that_an_instruction_does_not_have_are_no_failure_of_the_simulator(statement):
    kernel = ptxsim.from_ptx(ptx(statement))
    report = ptxsim.launch(kernel, (1,), (32,), (np.zeros(64, np.int32),))
    assert report.hazards[-1].kind == "unsupported-instruction"


def test_a_width_of_printf_is_not_written_out():
    for width in ("%1000000000d", f"%{'9' * 5000}d", "%.1000000000f"):
        source = f'extern "C" __global__ void k(int n) {{ printf("{width}", n); }}'
        report = ptxsim.launch(ptxsim.compile(source, "k"), (1,), (1,), (np.int32(5),))
        assert len(report.output) < 6000


def test_many_blocks_are_refused_before_they_are_numbered():
    waits = """extern "C" __global__ void k(volatile int* p)
    {
        extern __shared__ int s[];
        s[0] = 1;
        while (p[0] < 0) ;
        p[1] = s[0];
    }"""
    kernel, argument = ptxsim.compile(waits, "k"), np.zeros(8, np.int32)
    with pytest.raises(LaunchError, match="268,435,456 blocks; the simulator takes at most 16,777,216"):
        ptxsim.launch(kernel, (2**28,), (1,), (argument,), 64)
    with pytest.raises(
        LaunchError, match=r"their shared memory takes 23,244,800,000 bytes.* at most 268,435,456"
    ):
        ptxsim.launch(kernel, (100_000,), (1,), (argument,), 232448)
