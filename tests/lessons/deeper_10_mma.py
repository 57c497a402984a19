"""What goes deeper from lesson 10: attention on mma.sync."""

from tests.lessons import kernel, lesson_10, solved_function
from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "10_mma"
DTYPE = "float16"
PROBLEM = lesson_10.PROBLEM
WRONG = {
    "on_mma": variants("""
a wait too few on the values: unwaited-copy
    wait_group<AHEAD - 1>();                      // the values -> wait_group<AHEAD>();
a wait too few on the keys: unwaited-copy
    wait_group<AHEAD - 1>();                      // the keys -> wait_group<AHEAD>();
a wait too few on Q: unwaited-copy
    wait_group<AHEAD>(); -> wait_group<AHEAD + 1>();
no barrier before the values: read-after-write|write-after-read|unwaited-copy
    -         wait_group<AHEAD - 1>();                      // the values
    -         __syncthreads();
    +         wait_group<AHEAD - 1>();                      // the values
issued in front of the barrier: write-after-read
    -         __syncthreads();
    -         issue(2 * tile + 1 + AHEAD);
    +         issue(2 * tile + 1 + AHEAD);
    +         __syncthreads();
V as it lies there: are wrong
    .m8n8.x4.trans. -> .m8n8.x4.
rows of the piece exchanged in the fragment: are wrong
    scores[2 * step + i / 2][i % 2 * 2] -> scores[2 * step + i % 2][i / 2 * 2]
the sum is not rescaled: with a sum that is not multiplied by the factor
    -         sum[h] *= factor[h];
O is not rescaled: with an O that is not multiplied by the factor
    -         rescale(o, factor);
    -         TRACE…
    +         TRACE…
the maximum of one lane: are wrong
    fmaxf(largest, __shfl_xor_sync(~0u, largest, other)) -> largest
head 0's keys for all: head 0's keys and values
    K += blockIdx.y * keys * HEAD, V += blockIdx.y * keys * HEAD; ->
Q of the first warp for all: are wrong
    last + step / 4 * PART + mine * 64 -> last + step / 4 * PART
"""),
}


def _filled(name):
    """The kernel of the unfilled cell with the solution's text of this name in its gap."""

    def solved(skeleton, solution, changes=()):
        text = solved_function(name)(skeleton, solution, changes)
        return kernel(skeleton.code.replace("\n        ____\n", text, 1), skeleton.name)

    return solved


SOLVED = {"10.4": _filled("my_mask"), "10.5": _filled("my_front")}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__)
