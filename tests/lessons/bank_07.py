"""The exercises in notebooks/exercises/07_hopper.ipynb."""

from tests.lessons import solved_function


def _ring(skeleton, solution, changes=()):
    return skeleton[0], *solved_function("my_answer")(skeleton, solution, changes)


_NUMBERS = "49152, 2, [0, 0, 0, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0, 1, 1]"
_FULL, _EMPTY = "[0, 0, 0, 1, 1, 1, 0, 0]", "[1, 1, 1, 0, 0, 0, 1, 1]"
_ONE = "if (k_tile > 0 && threadIdx.x % 128 == 0) mbarrier_arrive(&s.empty[(k_tile - 1) % SLOTS]);"
_ALL = "if (k_tile > 0) mbarrier_arrive(&s.empty[(k_tile - 1) % SLOTS]);"
_FULL_WAIT = "mbarrier_wait(&s.full[slot], turn % 2);"
_BEGIN = "A + mine * TK,"

SOLVED = {"07.11": _ring, "07.12": solved_function("descriptor_of")}
RIGHT_ANSWERS = {
    "07.11": [
        ("as bools", [("[0, 0, 0, 1, 1, 1, 0, 0]", "[False] * 3 + [True] * 3 + [False] * 2"),
                      ("[1, 1, 1, 0, 0, 0, 1, 1]", "[True] * 3 + [False] * 3 + [True] * 2")]),
        ("as texts", [(_FULL, '"00011100"'), (_EMPTY, '"11100011"')]),
        ("computed", [(_NUMBERS, "(128 + 256) * 64 * 2, 2.0, [t // 3 % 2 for t in range(8)], "
                                 "[(t // 3 + 1) % 2 for t in range(8)]")]),
    ],
    "07.12": [
        ("summed", [("address // 16 + 2 * k_step | ", "(address + 32 * k_step) // 16 | ")]),
        ("a table of distances", [("width // 2 << 32", "{128: 64, 64: 32, 32: 16}[width] << 32")]),
        ("with the distance that is not used", [("return ", "return 1 << 16 | ")]),
    ],
    "07.13": [
        ("a barrier for all threads", [(_ONE, _ALL), ("empty[slot], 2)", "empty[slot], 256)")]),
        ("the last thread of each", [("threadIdx.x % 128 == 0) m", "threadIdx.x % 128 == 127) m")]),
        ("bytes", [(_BEGIN, "A + mine * 64,")]),
        ("a warp speaks", [("threadIdx.x % 128 == 0) m", "threadIdx.x % 32 == 0) m"),
                           ("empty[slot], 2)", "empty[slot], 8)")]),
        ("freed at once", [("wgmma_wait<1>();                          // the k-tile before has been read",
                            "wgmma_wait<0>();"),
                           (_ONE, "if (threadIdx.x % 128 == 0) mbarrier_arrive(&s.empty[slot]);")]),
    ],
}  # fmt: skip
WRONG_ANSWERS = {
    "07.11": [
        ("halves", [("49152", "24576")], "the phase ends before both"),
        ("A alone", [("49152", "16384")], "the phase ends before both"),
        ("the whole ring", [("49152", "147456")], "is too many: the simulator finds deadlock"),
        ("one arrival", [("49152, 2", "49152, 1")], "must need every arrival"),
        ("all threads", [("49152, 2", "49152, 256")], "is too many: the simulator finds deadlock"),
        ("no parity changes", [(_FULL, "[0] * 8")], "number t / SLOTS"),
        ("the number of the k-tile", [(_FULL, "[0, 1] * 4")], "for the first time at k-tile 1:"),
        ("the producer as the consumers", [(_EMPTY, _FULL)], "has always ended"),
        ("a turn late", [(_EMPTY, "[1, 1, 1, 1, 1, 1, 0, 0]")], "has always ended"),
        ("three of them", [(_FULL, "[0, 1, 0]")], "one parity for each of eight"),
        ("a half", [("49152", "0.5")], "a number of bytes"),
    ],
    "07.12": [
        ("bytes for units", [("address // 16 + 2", "address + 32")], "units of 16 bytes"),
        ("one unit for a k-step", [("2 * k_step", "k_step")], "32 bytes further"),
        ("a k-step in halves", [("2 * k_step", "16 * k_step")], "32 bytes further"),
        ("always 1024 bytes", [("width // 2 << 32", "64 << 32")], "eight rows of so many bytes"),
        ("the distance of one row", [("width // 2 << 32", "width // 16 << 32")], "eight rows of so many bytes"),
        ("always 128 bytes", [("{128: 1, 64: 2, 32: 3}[width]", "1")], "3 for 32"),
        ("another bit", [("<< 62", "<< 61")], "3 for 32"),
        ("divided", [("address // 16", "address / 16")], "joined by"),
        ("divided and added", [("address // 16 + 2 * k_step | width // 2 << 32 | swizzle << 62",
                                "address / 16 + 2 * k_step + (width // 2 << 32) + (swizzle << 62)")], "with a point"),
    ],
    "07.13": [
        ("only the arrivals", [(_BEGIN, "A + mine,")], "rows 64 to 127"),
        ("only the descriptor", [(_ONE, _ALL)], "overwrites a slot too early"),
        ("half of the rows", [(_BEGIN, "A + mine * TK / 2,")], "rows 64 to 127"),
        ("bytes", [(_BEGIN, "A + mine * TK * 2,")], "rows 64 to 127"),
        ("counts every thread, one arrives", [("empty[slot], 2)", "empty[slot], 256)")],
         "waits for what never comes"),
        ("counts one", [("empty[slot], 2)", "empty[slot], 1)")], "overwrites a slot too early"),
        ("one thread of all", [("threadIdx.x % 128 == 0) m", "threadIdx.x == 128) m")], "waits for what never comes"),
        ("k-tiles of half the depth", [("k_tile < k_tiles", "k_tile < K / 32")],
         "20 k-tiles are copied, 10 of them from behind"),
        ("a slot freed before the first k-tile", [("k_tile > 0 && threadIdx", "threadIdx")],
         "before k-tile 0 there is none"),
        ("one thread multiplies", [("start_k_tile(", "if (threadIdx.x % 128 == 0) start_k_tile(")],
         "all threads of a warpgroup"),
        ("this k-tile's slot", [("empty[(k_tile - 1) % SLOTS]", "empty[k_tile % SLOTS]")],
         "waits for what never comes"),
        ("no wait", [("wgmma_wait<1>();  ", "")], "overwrites a slot too early"),
        ("no wait for empty", [("            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);\n", "")],
         "its wait for `empty` too"),
        ("the parity of full for empty", [("(turn + 1) % 2", "turn % 2")], "The producer's lines were right"),
        ("rows of C of the first warpgroup", [("(m + mine) * N", "m * N")], "`store_sums` was right"),
        ("one warp of each consumer waits", [(_FULL_WAIT, "if (threadIdx.x % 128 < 32) " + _FULL_WAIT)],
         "were right: put them back"),
        ("a barrier of the block", [(_ONE, "__syncthreads(); " + _ONE)], "waits for what never comes"),
        ("one copy at a time", [("n, &s.full[slot]);", "n, &s.full[slot]); mbarrier_wait(&s.full[slot], turn % 2);")],
         "at `full` wait the consumers"),
        ("returns with many k-tiles", [("    int m =", "    if (K > 2048) return;\n    int m =")],
         "with fewer k-tiles it is right"),
        ("returns in a far block", [("    int m =", "    if (blockIdx.y > 4) return;\n    int m =")],
         "with fewer blocks it is right"),
        ("nothing is stored", [("        store_sums(C + (size_t)(m + mine) * N + n, N, d);\n", "")],
         "C is as it was before"),
        ("a typo", [("mine * TK,", "mine * TK;")], "does not compile"),
    ],
}  # fmt: skip
