"""What goes deeper from lesson 05: pages to repair."""

from tests.lessons.tables import answers_beside

NOTEBOOK = "05_pages_to_repair"
DTYPE = "float16"
LOOP = """\
    int stage = 0;
    load_tile(0, 0);                                  // prologue: the first two k-tiles
    if (k_tiles > 1) load_tile(1, 1);

    for (int k = 2; k < k_tiles; ++k) {
        int produce = (stage + 2) % 3, consume = stage;
        __syncthreads();
        compute(consume);                             // the oldest k-tile
        load_tile(k, produce);                        // the newest
        stage = (stage + 1) % 3;
    }

    __syncthreads();                                  // epilogue: the k-tiles that are left
    compute(stage);
    if (k_tiles > 1) compute((stage + 1) % 3);
"""
SYNC, OLDEST = LOOP.splitlines(True)[6:8]
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
