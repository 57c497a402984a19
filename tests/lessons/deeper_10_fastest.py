"""What goes deeper from lesson 10: causal, any length, shared keys. The kernel in the notebook has neither mask nor
shared keys: of these it is tried with changes, in tests/lessons/test_attention_forms.py."""

from tests.lessons import lesson_10
from tests.lessons.tables import variants

NOTEBOOK = "10_fastest"
DTYPE = "float16"
PROBLEM = lesson_10.PROBLEM
WRONG = {
    "fastest": variants("""
the sum is not rescaled: are wrong
    -         sum[h] *= factor[h];
the maximum of one thread: are wrong
    -         largest = largest_of_row(largest);
the sum of one thread: are wrong
    1 / sum_of_row(sum[h]) -> 1 / sum[h]
the tile at the end twice: are wrong
    row = first + (tiles - 1 - count) * KEYS -> row = first + max(tiles - 2, 0) * KEYS
heads do not take turns, but their numbers do: NaN
    head = set * TOGETHER + at % heads, -> head = set * TOGETHER,
values before they have come: unwaited-copy
    -             mbarrier_wait(&s.v_full[slot], turn % 2);
stored by who has not met the others: read-after-write
    -     asm volatile("bar.sync %0, 128;" :: "r"(barrier) : "memory");
rows of the other half: are wrong
    (size_t)(head * queries + query) * HEAD -> (size_t)(head * queries + query / 2) * HEAD
"""),
}
