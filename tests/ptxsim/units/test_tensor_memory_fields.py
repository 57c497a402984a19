"""Every bit of what tells tcgen05 where and what is turned over: the numbers change, or a finding names it. A bit that
changes nothing stands in a table, with its reason."""

import numpy as np
import pytest

from ptxsim import launch
from tests.kernels.tcgen05_layouts import LAYOUTS
from tests.ptxsim.units.test_tensor_memory import kernel, numbers
from tests.sample import one_in

BITS = {"what": 32, "a": 64, "b": 64, "place": 32, "from": 32, "parity": 1}
"""What the kernel is told, and its bits: the instruction's descriptor, those of A and B, the addresses of D and of a
load, and the parity of the wait."""
K, M = 16, 128


OF_OTHER_LANES = "a matrix takes all lanes, whatever bits 5 and 6 of the lane are"
OF_OWN_LANES = "a warp reaches its own 32 lanes; a note says so"
OF_PAIRS = "bit 7 of the lane: kernels for pairs set it in the odd block"
ONE_ROW = "K of one product lies in one swizzled row: there is no next one along K"
SAME = {
    **{(name, "place", bit): OF_OTHER_LANES for name in LAYOUTS for bit in (21, 22)},
    **{(name, "from", bit): OF_OWN_LANES for name in LAYOUTS for bit in (21, 22)},
    **{(name, word, 23): OF_PAIRS for name in LAYOUTS for word in ("place", "from")},
    **{
        (name, word, bit): ONE_ROW
        for name in ("rows of 128 bytes", "rows of 64 bytes")
        for word in ("a", "b")
        for bit in range(16, 30)
    },
}
"""Bits that change nothing, and why."""
BODY = """
    unsigned t = threadIdx.x, w = t / 32;
    __shared__ unsigned at;
    __shared__ u64 done;
    __shared__ alignas(1024) unsigned A[4096], B[4096];
    if (w == 0) ALLOC(&at, NN);
    if (t == 0) { INIT(&done, 1); INIT_FENCE; }
    for (unsigned i = t; i < 4096; i += 128) { A[i] = in[i]; B[i] = in[4096 + i]; }
    FENCE_ASYNC;
    __syncthreads();
    u64 a = OF_A ^ flips[1], b = OF_B ^ flips[2];
    unsigned what = (WHAT(128, NN) | TRANSPOSED << 15) ^ (unsigned)flips[0], place = at ^ (unsigned)flips[3];
    if (t == 0) {
        MMA(place, a, b, what, 0);
        COMMIT(&done);
    }
    WAIT(&done, (unsigned)flips[5]);
    __syncwarp();
    for (unsigned n = 0; n < NN; n += 4) {
        unsigned v[4];
        LD(v, (at + (w * 32 << 16) + n) ^ (unsigned)flips[4]);
        WAIT_LD;
        for (unsigned i = 0; i < 4; i++) out[t * NN + n + i] = __uint_as_float(v[i]);
    }
    __syncthreads();
    if (w == 0) FREE(at, NN);
"""


@pytest.fixture(scope="module", params=one_in(4, LAYOUTS))
def outcome(request):
    """The name of a layout, a function (word, bit) that gives the findings, the numbers, and the notes, and what is
    right."""
    layout = LAYOUTS[request.param]
    parts = {"NN": layout.n, "TRANSPOSED": "3u" if layout.transposed else "0u"}
    parts |= {"OF_A": layout.descriptor("A", M), "OF_B": layout.descriptor("B", layout.n)}
    body = BODY
    for name, text in parts.items():
        body = body.replace(name, str(text))
    told = kernel(body, "float* out, const unsigned* in, const unsigned long long* flips")
    a, b = numbers(M, K), numbers(layout.n, K, 1)
    tiles = np.concatenate([layout.bytes_of(each, 4096 * 4) for each in (a, b)]).view(np.uint32)

    def run(word: str | None, bit: int = 0):
        flips, out = np.zeros(6, np.uint64), np.full((M, layout.n), np.nan, np.float32)
        if word:
            flips[list(BITS).index(word)] = np.uint64(1) << np.uint64(bit)
        report = launch(told, 1, 128, (out, tiles, flips))
        return [str(each) for each in report.hazards], out, report.notes

    hazards, out, _ = run(None)
    assert not hazards and np.array_equal(out, a.astype(np.float32) @ b.T.astype(np.float32))
    return request.param, run, out


@pytest.mark.parametrize("word", BITS)
def test_no_bit_is_passed_over(outcome, word):
    layout, run, right = outcome
    same = []
    tried = one_in(5, range(BITS[word]))
    for bit in tried:
        hazards, out, notes = run(word, bit)
        if not hazards and np.array_equal(out, right):
            same.append(bit)
            assert word != "from" or bit == 23 or any("its number says" in note for note in notes)
    assert same == [bit for name, each, bit in SAME if (name, each) == (layout, word) and bit in tried]
