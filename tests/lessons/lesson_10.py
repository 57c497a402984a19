"""Lesson 10: attention."""

from course_lib.check.attention import Attention
from course_lib.lessons import sources
from tests.lessons import kernel, solved_function, solved_program
from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "10_attention"
DTYPE = "float16"
LOOP = "            int slot = tile % SLOTS, turn = tile / SLOTS,\n                before"
BEHIND = "        mbarrier_wait(&s.v_full[(tiles - 1)"
"""The first lines of the loop of `ahead`, and the first one behind it."""


def PROBLEM(M: int, N: int, K: int) -> Attention:
    """As a launch's tile counts: M queries of one head, K keys."""
    return Attention(1, M, K)


OF_ALL = variants("""
the sum is not rescaled: with a sum that is not multiplied by the factor
    -         sum[h] *= factor[h];
no factor at all: without the factor, for O and the sum
    factor[h] = exp2_of((most[h] - largest) * scale); -> factor[h] = 1;
the maximum of one thread: are wrong
    -         largest = largest_of_row(largest);
the sum of one thread: are wrong
    1 / sum_of_row(sum[h]) -> 1 / sum[h]
keys of the first tile for all: are wrong
    load_head_rows(KEYS, s.K[slot], K, first + tile * KEYS, -> load_head_rows(KEYS, s.K[slot], K, first,
keys are not waited for by the producer: mbarrier
    -             mbarrier_wait(&s.k_empty[slot], (turn + 1) % 2);
""")
WRONG = {
    "in_turn": [
        *OF_ALL,
        *variants("""
O is not rescaled: with an O that is not multiplied by the factor
    -             rescale(o, factor);
    -             pack…
    +             pack…
softmax before its scores: unwaited-wgmma
    -             start_scores(scores, s.Q[mine], s.K[slot]);
    -             wgmma_wait<0>();
    +             start_scores(scores, s.Q[mine], s.K[slot]);
values before they have come: unwaited-copy
    -             mbarrier_wait(&s.v_full[slot], turn % 2);
"""),
    ],
    "turns": [
        *OF_ALL,
        *variants("""
nobody waits for a turn: barrier
    -             named_sync<256>(1 + mine);                // my turn at the tensor cores
the same turn for both: deadlock|barrier
    -             named_arrive<256>(2 - mine);              // the other one's
    +             named_arrive<256>(1 + mine);
softmax while a product is at work: unwaited-wgmma
    -             wgmma_wait<0>();
    -             TRACE_END(math, tile);
    +             TRACE_END(math, tile);
"""),
    ],
    "seldom": [
        *OF_ALL[2:],
        *variants("""
the sum is not rescaled: are wrong
    -         sum[h] *= factor[h];
no factor at all: are wrong
    factor[h] = exp2_of((most[h] - largest) * scale); -> factor[h] = 1;
O is never rescaled: are wrong
    if (softmax(scores, most, sum, factor, scale)) rescale(o, factor); -> softmax(scores, most, sum, factor, scale);
only where all rows have a new maximum: are wrong
    __any_sync -> __all_sync
the maximum of one thread: are wrong
    -         largest = largest_of_row(largest);
values before they have come: unwaited-copy
    -             mbarrier_wait(&s.v_full[slot], turn % 2);
"""),
    ],
    "ahead": [
        *OF_ALL,
        *variants("""
no wait for the scores: unwaited-wgmma
    wgmma_wait<1>(); -> wgmma_wait<2>();
no wait for the values: unwaited-wgmma
    -             wgmma_wait<0>();                          // O and the weights are free
values are freed early: write-after-read|mbarrier
    -             if (thread == 0) mbarrier_arrive(&s.k_empty[slot]);
    +             if (thread == 0) mbarrier_arrive(&s.k_empty[slot]);
    +             if (thread == 0) mbarrier_arrive(&s.v_empty[before]);
values of the wrong slot: wrong|unwaited
    start_values(o, weights, s.V[before]); -> start_values(o, weights, s.V[slot]);
"""),
    ],
}
GAPS = ["10.1"]


def _with_loop(skeleton, solution, changes=()):
    """`ahead` with the body of its loop in the solution."""
    source = sources.kernel_source(NOTEBOOK, "ahead")
    begin, end = source.index(LOOP), source.index(BEHIND)
    return kernel(source[:begin] + solved_program(skeleton, solution, changes) + source[end:], skeleton.name)


def _filled(skeleton, solution, changes=()):
    """The kernel of the unfilled cell with the solution's two texts in its gaps."""
    source = skeleton.code
    for name in "stays", "grown":
        source = source.replace("____", solved_function(name)(skeleton, solution, changes), 1)
    return kernel(source, skeleton.name)


SOLVED = {"10.2": _with_loop, "10.3": _filled}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
