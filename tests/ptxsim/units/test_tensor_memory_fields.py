"""Every bit of what tells tcgen05 where and what is turned over: the numbers change, or a finding names it. A bit that
changes nothing stands in a table, with its reason."""

import numpy as np
import pytest

from ptxsim import launch
from tests.ptxsim.units.test_tensor_memory import COLUMNS, END, TILES, in_chunks, kernel, numbers
from tests.sample import one_in

BITS = {"what": 32, "a": 64, "b": 64, "place": 32, "from": 32, "parity": 1}
"""What the kernel is told, and its bits: the instruction's descriptor, those of A and B, the addresses of D and of a
load, and the parity of the wait."""
OF_OTHER_LANES = "a matrix takes all lanes, whatever bits 5 and 6 of the lane are"
OF_OWN_LANES = "a warp reaches its own 32 lanes; a note says so"
OF_PAIRS = "bit 7 of the lane: kernels for pairs set it in the odd block"
SAME = {
    **{("place", bit): OF_OTHER_LANES for bit in (21, 22)},
    **{("from", bit): OF_OWN_LANES for bit in (21, 22)},
    ("place", 23): OF_PAIRS,
    ("from", 23): OF_PAIRS,
}
"""Bits that change nothing, and why."""
BODY = f"""
    {COLUMNS}{TILES}
    u64 a = PLAIN(A, 128) ^ flips[1], b = PLAIN(B, 64) ^ flips[2];
    unsigned what = WHAT(128, 64) ^ (unsigned)flips[0], place = at ^ (unsigned)flips[3];
    if (t == 0) {{
        MMA(place, a, b, what, 0);
        COMMIT(&done);
    }}
    WAIT(&done, (unsigned)flips[5]);
    __syncwarp();
    for (unsigned n = 0; n < 64; n += 4) {{
        unsigned v[4];
        LD(v, (mine + n) ^ (unsigned)flips[4]);
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[t * 64 + n + i] = __uint_as_float(v[i]);
    }}
    {END}
"""


@pytest.fixture(scope="module")
def outcome():
    """A function (word, bit) that gives the findings, the numbers, and the notes."""
    told = kernel(BODY, "float* out, const __half* in, const unsigned long long* flips")
    a, b = numbers(128, 16), numbers(64, 16, 1)
    tiles = np.concatenate([in_chunks(a), in_chunks(b)])

    def run(word: str | None, bit: int = 0):
        flips, out = np.zeros(6, np.uint64), np.full((128, 64), np.nan, np.float32)
        if word:
            flips[list(BITS).index(word)] = np.uint64(1) << np.uint64(bit)
        report = launch(told, 1, 128, (out, tiles, flips))
        return [str(each) for each in report.hazards], out, report.notes

    hazards, out, _ = run(None)
    assert not hazards and np.array_equal(out, a.astype(np.float32) @ b.T.astype(np.float32))
    return run, out


@pytest.mark.parametrize("word", BITS)
def test_no_bit_is_passed_over(outcome, word):
    run, right = outcome
    same = []
    tried = one_in(5, range(BITS[word]))
    for bit in tried:
        hazards, out, notes = run(word, bit)
        if not hazards and np.array_equal(out, right):
            same.append(bit)
            assert word != "from" or bit == 23 or any("its number says" in note for note in notes)
    assert same == [bit for each, bit in SAME if each == word and bit in tried]
