"""What goes deeper from lesson 10: heads of 64."""

from course_lib.check.attention import Attention
from tests.lessons.tables import variants

NOTEBOOK = "10_heads_of_64"
DTYPE = "float16"


def PROBLEM(M: int, N: int, K: int) -> Attention:
    """As a launch's tile counts: M queries of one head, K keys."""
    return Attention(1, M, K, columns=64)


OF_BOTH = variants("""
the sum is not rescaled: are wrong
    -         sum[h] *= factor[h];
the maximum of one thread: are wrong
    -         largest = largest_of_row(largest);
O of one row alone is rescaled: are wrong
    factor[i / 2 % 2]; -> factor[0];
keys of the first tile for all: are wrong
    load_rows(KEYS, s.K[slot], K, 0, first + tile * KEYS, -> load_rows(KEYS, s.K[slot], K, 0, first,
values of the lesson's columns: out-of-bounds|are wrong|not given
    load_rows(KEYS, s.V[slot], V, 0, -> load_rows(KEYS, s.V[slot], V, 64,
keys are not waited for by the producer: mbarrier
    -             mbarrier_wait(&s.k_empty[slot], (turn + 1) % 2);
""")
WRONG = {
    "narrow": [
        *OF_BOTH,
        *variants("""
softmax before its scores: unwaited-wgmma
    -             start_scores_64(scores, s.Q[mine], s.K[slot]);
    -             wgmma_wait<0>();
    +             start_scores_64(scores, s.Q[mine], s.K[slot]);
values before they have come: unwaited-copy
    -             mbarrier_wait(&s.v_full[slot], turn % 2);
never rescaled: are wrong
    if (softmax(scores, most, sum, factor, scale)) rescale(o, factor); -> softmax(scores, most, sum, factor, scale);
"""),
    ],
    "narrow_ahead": [
        *OF_BOTH,
        *variants("""
weights while the values still read them: unwaited-wgmma
    -             wgmma_wait<0>();                          // O and…
    +             // O and…
the last tile's values are left out: are wrong
    -         start_values(o, weights, s.V[(tiles - 1) % SLOTS]);
    -         wgmma_wait<0>();
    +         wgmma_wait<0>();
never rescaled: are wrong
    if (grown) rescale(o, factor); ->
"""),
    ],
}
