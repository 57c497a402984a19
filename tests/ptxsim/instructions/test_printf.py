"""printf: what is printed, what is returned, how much at most. An H100 printed these texts, except where it
says C: it reads %hh, and a long long after it, in ways of its own, and it does not know %z."""

import numpy as np
import pytest

from ptxsim import compile, launch
from ptxsim.instructions.printf import MOST_CHARACTERS, MOST_PRINTED

BEFORE = """double zero = n, inf = 1.0 / zero;
char local[8] = {108, 111, 99, 0, 0}; local[2] += n;
__shared__ char shared[8]; shared[0] = 115; shared[1] = 104; shared[2] = 0;
"""


def run(body, n=0, block=(1,), grid=(1,), **more):
    """Run `body`; what it printed, and its array `out`, one int for each thread."""
    source = f'extern "C" __global__ void k(int* out, int n) {{\n{BEFORE}int t = threadIdx.x;\n{body}\n}}'
    out = np.full(block[0], 99, np.int32)
    report = launch(compile(source, "k"), grid, block, (out, np.int32(n)), **more)
    assert report.ok, str(report)
    return report.output, out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('"%hhd|%hhu|%hd|%hu|%hhx|%ho", 300, 300, 70000, 70000, -1, -1', "44|44|4464|4464|ff|177777"),  # C
        ('"%hi|%hhi", -40000, -129', "25536|127"),  # C
        ("\"%5c|%-5c|%c\", 'x', 'y', 'z'", "    x|y    |z"),
        ('"%5s|%-5s|%.2s|%5.1s", "ab", "cd", "efg", "hi"', "   ab|cd   |ef|    h"),
        ('"%s %s", local, shared', "loc sh"),
        ("local", "loc"),
        ('"%*d|%-*d|%*d|", 5, 3, 6, 4, -5, 3', "    3|4     |3    |"),
        ('"%5%|%%"', "%5%|%"),
        ('"%a|%A|%.2a|%20a|%a", 1.0, 0.1, 3.14, -2.5, 0.0',
         "0x1p+0|0X1.999999999999AP-4|0x1.92p+1|           -0x1.4p+1|0x0p+0"),
        ('"%p|%20p|%p|%-8p|", (void*)0, (void*)16, (void*)255, (void*)1',
         "(nil)|                0x10|0xff|0x1     |"),
        ('"%+u|% u|%#o|%#x|%#X|%#o|%#x", 5u, 5u, 15, 255, 255, 0, 0', "5|5|017|0xff|0XFF|0|0"),
        ('"%08.3d|%.0d|%+05d|% d|%-+6d|", 5, 0, 42, 42, 7', "     005||+0042| 42|+7    |"),
        ('"%.d|%.f|%5.d|", 3, 1.6, 0', "3|2|     |"),
        ('"%-05d|%0-5d|%+ d|%  d|", 1, 2, 3, 4', "1    |2    |+3| 4|"),
        ('"%#.3x|%#6x|%+x|%#06x", 10, 10, 10, 10', "0x00a|   0xa|a|0x000a"),
        ('"%i|%X|%o", -1, -1, -1', "-1|FFFFFFFF|37777777777"),
        ('"%ld|%lld|%lu|%llx|%li|%zu", -5L, -6LL, 7UL, -1LL, -9L, (size_t)5', "-5|-6|7|ffffffffffffffff|-9|5"),  # C
        ('"%e|%E|%g|%G|%#g|%.0e", 1.5, 1e300, 1e-5, 1e20, 1.0, 2.5',
         "1.500000e+00|1.000000E+300|1e-05|1E+20|1.00000|2e+00"),
        ('"%10.3f|%-10.2f|%+f|%010.2f", 3.14159, 2.0, 1.0, -3.5',
         "     3.142|2.00      |+1.000000|-000003.50"),
        ('"%F|%.0f|%#.0f|%.0f|%lf|%lg", 1.5, 2.5, 2.0, 3.5, 1.5, 2.5', "1.500000|2|2.|4|1.500000|2.5"),
        ('"%f|%f|%e|%5.1F|%05f|%+f", inf, -inf, inf, inf, inf, inf', "inf|-inf|inf|  INF|  inf|+inf"),
        ('"%f|%G", inf - inf, inf - inf', "nan|NAN"),  # an H100 adds a minus sign: the bits of a NaN are its own
        ('"%.3c|%05c|%05s|%+s", 65, 66, "ab", "cd"', "A|    B|   ab|cd"),
        ('"%s|%d", (char*)0, 3', "(null)|3"),
        ('"%c|%d", 0, 4', "\0|4"),
        ('"%lld|%hhd|%lld|%c|%f", 1LL << 40, -3, 1LL << 41, 82, 2.25',
         "1099511627776|-3|2199023255552|R|2.250000"),  # C
        ('"%y %d|%\\n%d|%", 5, 6', "%y 5|%\n6|%"),
        ('""', ""),
    ],
)  # fmt: skip
def test_texts(arguments, text):
    assert run(f"printf({arguments});")[0] == text


@pytest.mark.parametrize(
    ("arguments", "returned"),
    [
        ('"none"', 0),
        ('""', 0),
        ('"none", 1, 2', 0),
        ('"100%%"', 0),
        ('"%d", 1', 1),
        ('"%*d|%-*d|", 5, 3, 6, 4', 4),
        ('"%y %d", 5', 1),
        ('"%s|%d", (char*)0, 3', 2),
        ('"%lld%f%d", 1LL, 2.0, 3', 3),
        ("local", 0),
        ('n ? "x" : (const char*)0', -1),
    ],
)
def test_what_is_returned(arguments, returned):
    """The number of arguments that the format names; -1 without a format. An H100 returns the same."""
    assert run(f"out[t] = printf({arguments});")[1].tolist() == [returned]


def test_each_thread_has_its_own_text():
    body = """char own[4] = {'%', 'd', 0, 0}; own[0] = t % 2 ? '%' : '!';
    if (t < 4) out[t] = printf(own, t);"""
    text, out = run(body, block=(8,))
    assert text == "!d1!d3"
    assert out.tolist() == [0, 1, 0, 1, 99, 99, 99, 99]


def test_a_text_without_an_end_stops_with_its_array():
    text, _ = run('shared[7] = 1; for (int i = 0; i < 7; ++i) shared[i] = 66; printf("%s|", shared);')
    assert text == "BBBBBBB\x01|"


def test_calls_are_limited():
    text, out = run('out[t] = printf("%d\\n", t);', block=(1000,), grid=(11,))
    lines = text.splitlines()
    assert len(lines) == MOST_PRINTED + 1
    assert "the first 10000 printf calls" in lines[-1] and "if (threadIdx.x == 0) printf" in lines[-1]
    assert (out == 1).all()  # also from calls that are not shown


@pytest.mark.parametrize("block", [1, 1000])
def test_characters_are_limited(block):
    """10,000 calls of 40,000 characters would be 400 MB."""
    body = 'for (int i = 0; i < 700; ++i) out[t] = printf("%900d%900d\\n", i, t);'
    text, out = run(body, block=(block,), max_steps=10**9)
    shown, note = text[:MOST_CHARACTERS], text[MOST_CHARACTERS:]
    assert shown.count("\n") == MOST_CHARACTERS // 1801
    assert note.startswith("\n... the simulator shows") and "1,048,576 characters (1 MiB)" in note
    assert len(note) < 300
    assert (out == 2).all()


def test_one_long_text_is_cut():
    source = (
        """extern "C" __global__ void k(char* text) { for (int i = 0; i < 3; ++i) printf("%s|", text); }"""
    )
    text = np.full(3 << 20, ord("x"), np.uint8)
    report = launch(compile(source, "k"), (1,), (1,), (text,))
    assert report.ok and len(report.output) < MOST_CHARACTERS + 300
