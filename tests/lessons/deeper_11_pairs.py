"""What goes deeper from lesson 11: two blocks, one product."""

from tests.lessons.tables import variants

NOTEBOOK = "11_pairs"
DTYPE = "float16"
WRONG = {
    "pair": variants("""
copies count at home: deadlock
    pair_load_rows( -> load_rows(
each block expects its bytes at home: unwaited-copy|mbarrier|deadlock
    if (rank == 0) mbarrier_expect(&s.full[slot], 2 * sizeof(Slot)); -> mbarrier_expect(&s.full[slot], sizeof(Slot));
one block's bytes: unwaited-copy|mbarrier
    2 * sizeof(Slot)) -> sizeof(Slot))
the commit tells one block: deadlock
    pair_commit(&s.empty[slot]) -> mbarrier_arrive(&s.empty[slot])
arrivals of one block: write-after-read|mbarrier
    sums_empty[half], 256) -> sums_empty[half], 128)
arrivals at home: deadlock
    mbarrier_arrive_at(&s.sums_empty[half], 0) -> mbarrier_arrive(&s.sums_empty[half])
the same half of B in both: wrong
    TN + rank * TN / 2; -> TN;
the same rows of A in both: wrong|block-conflict|order-dependent
    (tile % down * 2 + rank) -> (tile % down * 2)
no meeting before columns are asked for: read-after-write|exited-block|use-before-start
    -     cluster_sync();                                   // both…
    +     __syncthreads();                                  // both…
no meeting at the end: exited-block
    -     cluster_sync();                                   // until…
    +     // until…
"""),
}
