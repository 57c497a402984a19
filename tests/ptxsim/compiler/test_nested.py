"""Texts that are nested too deeply for the compiler's stack: words, in a moment, and no process ends."""

import subprocess
import sys
import time

import pytest

import ptxsim
from ptxsim.compiler import nested

KERNEL = 'extern "C" __global__ void k(int* p)\n{\n%s\n}\n'
N = 30_000
DEEP = {
    "parentheses": KERNEL % f"p[0] = {'(' * N}1{')' * N};",
    "braces": KERNEL % f"{'{' * N}p[0] = 1;{'}' * N}",
    "brackets": KERNEL % f"p[{'p[' * N}0{']' * N}] = 1;",
    "calls": "__device__ int f(int);\n" + KERNEL % f"p[0] = {'f(' * N}1{')' * N};",
    "lambdas": KERNEL % f"auto f = {'[]{return ' * N}1{';}' * N};",
    "initialisers": KERNEL % f"int a[1] = {'{' * N}1{'}' * N};",
    "blocks of a switch": KERNEL % f"{'switch(p[0]){case 1:' * N}p[0] = 1;{'}' * N}",
    "namespaces": f"{'namespace a{' * N}{'}' * N}\n{KERNEL % ''}",
    "a macro": "#define F(x) x\n" + KERNEL % f"p[0] = {'F(' * N}1{')' * N};",
    "a condition": f"#if {'(' * N}1{')' * N}\n#endif\n{KERNEL % ''}",
    "minus": KERNEL % f"p[0] = {'- ' * N}p[1];",
    "not": KERNEL % f"p[0] = {'!' * N}p[1];",
    "pointers": KERNEL % f"int {'*' * N}q = 0;",
    "arguments of templates": f"template <class T> struct A {{}};\nusing B = {'A<' * N}int{'>' * N};\n{KERNEL % ''}",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_what_is_nested_too_deeply_is_refused_in_words(source):
    begin = time.process_time()
    with pytest.raises(
        ptxsim.CompileError, match=r"^kernel.cu\(\d\): error: .*500 .* Give a part of it a name"
    ):
        ptxsim.compile(source, "k")
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "source",
    [
        KERNEL % f"p[0] = {'(' * 490}1{')' * 490};",
        KERNEL % f'// {"(" * N}\n/* {"-" * N} */ p[0] = sizeof("{"(" * N}");',
        KERNEL % f"p[0] = {' + '.join(['(p[1] - -1)'] * 600)};",
        KERNEL % ("if (p[0] < 1 && p[1] < 2) { p[2] = 1; }\n" * 600),
        "word" * N,
        f"a{' ' * N}" * 20,
    ],
    ids=["not so deep", "comments", "side by side", "comparisons", "a long word", "spaces"],
)
def test_what_is_not_is_read_by_the_compiler(source):
    begin = time.process_time()
    assert nested.too_deep(source) == ""
    assert time.process_time() - begin < 1


CASTS = """
from ptxsim.compiler import nvrtc
source = 'extern "C" __global__ void k(int* p) { p[0] = ' + "(int)" * 10_000 + "p[1]; }"
print("st.global" in nvrtc.compile_ptx(source).ptx)
"""


def test_what_nests_without_brackets_ends_no_process():
    done = subprocess.run([sys.executable, "-c", CASTS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
