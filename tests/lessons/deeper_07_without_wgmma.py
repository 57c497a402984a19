"""What goes deeper from lesson 07: a ring of boxes for GPUs without wgmma."""

from tests.lessons.tables import variants

NOTEBOOK = "07_without_wgmma"
DTYPE = "float16"
WRONG = {
    "boxes_and_mma": variants("""
the parity of the math for the copy: deadlock
    (turn + 1) % 2 -> turn % 2
the other parity of full: unwaited-copy
    full[slot], turn % 2 -> full[slot], (turn + 1) % 2
bytes of half a slot: unwaited-copy
    sizeof(Slot) -> sizeof(Slot) / 2
two arrivals for four warps: write-after-read|mbarrier|deadlock
    empty[slot], THREADS / 32) -> empty[slot], 2)
one copy too few: deadlock
    k_tile + SLOTS - 1 < k_tiles -> k_tile + SLOTS < k_tiles
the first warp's rows for all: wrong
    s.slots[slot].A + m * TK -> s.slots[slot].A
columns of B by the rows of C: wrong
    k_tile * TK, column, -> k_tile * TK, row,
stores before all have read the last slot: write-after-read
    __syncthreads();                                  // all have read the last slot ->
"""),
}
