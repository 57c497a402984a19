"""The exercises in notebooks/exercises/08_never_a_pause.ipynb."""

from tests.lessons import solved_function

_REGISTERS = "left // (128 * consumers) // 8 * 8"
_OPERANDS = "s.slots[slot].B + mine * TK, s.slots[slot].A,"
_STORE = "C[(size_t)(row + 8 * j + i) * N + column + 8 * h] = __half(d[4 * j + 2 * h + i]);"
_LOAD_A = "load_rows_shared<2>(TM, s.slots[slot].A, A, k_tile * TK, m, &s.full[slot]);"
_TELL = "if (thread < 2) mbarrier_arrive_at(&s.empty[slot], thread);"
_OWN = "if (thread == 0) mbarrier_arrive(&s.empty[slot]);"
_ALL_OF_A = "for (int row = 0; row < TM; row += 64) "
_BOTH = "load_box_to(3, s.slots[slot].A + row * TK, A, k_tile * TK, m + row, &s.full[slot]);"

_ARRIVE = "mbarrier_arrive(&empty[slot]);"
_EMPTY = "            mbarrier_wait(&empty[slot], (turn + 1) % 2);\n"
_WRITE = """for (int i = threadIdx.x - 32; i < ROW; i += 128)
                out[row * ROW + i] = slots[slot][ROW - 1 - i];"""
_WHO = "int i = threadIdx.x - 32; i < ROW; i += 128"

_COUNT, _FIRST, _NEXT = "    int count = 0; ", "int row = blockIdx.x;", "row += gridDim.x"

GAPS = ["08.12", "08.14"]
SOLVED = {"08.11": solved_function("budget")}
RIGHT_ANSWERS = {
    "08.11": [
        ("counted up", [("slots = (232448 - kept) // slot",
                         "slots = 0\n    while (slots + 1) * slot + kept <= 232448:\n        slots += 1")]),
        ("eights of a warpgroup", [(_REGISTERS, "8 * ((64 - (consumers == 2) - producer // 8) // consumers)")]),
        ("a search", [(_REGISTERS, "max(r for r in range(24, 257, 8) if r * 128 * consumers <= left)")]),
    ],
    "08.12": [
        ("another order of the loops", [("for (int h = 0; h < 2; ++h)\n                for (int i = 0; i < 2; ++i)",
                                         "for (int i = 0; i < 2; ++i)\n                for (int h = 0; h < 2; ++h)")]),
        ("rounded by name", [("__half(d[", "__float2half_rn(d[")]),
        ("one loop", [("for (int j = 0; j < 32; ++j)\n            for (int h = 0; h < 2; ++h)\n"
                       "                for (int i = 0; i < 2; ++i)\n                    " + _STORE,
                       "for (int e = 0; e < 128; ++e)\n            C[(size_t)(row + e / 4 * 8 + e % 2) * N + column "
                       "+ e / 2 % 2 * 8] = __half(d[e]);")]),
    ],
    "08.13": [
        ("by hand", [(_LOAD_A, f"for (int row = cluster_rank() * 64; row < TM; row += 128) {_BOTH}")]),
        ("two threads, each tells one", [
            (_TELL, "if (thread % 64 == 0) mbarrier_arrive_at(&s.empty[slot], thread / 64);")]),
        ("one thread tells both", [(_TELL, "if (thread == 0) for (int b = 0; b < 2; ++b) "
                                           "mbarrier_arrive_at(&s.empty[slot], b);")]),
        ("its own barrier as before", [(_TELL, "if (thread == 0) { mbarrier_arrive(&s.empty[slot]); "
                                               "mbarrier_arrive_at(&s.empty[slot], 1 - cluster_rank()); }")]),
        ("the other half", [(_LOAD_A, "{ int row = 64 - cluster_rank() * 64; " + _BOTH + " }")]),
        ("each every second k-tile", [(_LOAD_A, "if (k_tile % 2 == cluster_rank()) " + _ALL_OF_A + _BOTH)]),
    ],
    "08.14": [
        ("a warp arrives", [("empty[slot], 128)", "empty[slot], 4)"),
                            (_ARRIVE, "__syncwarp();\n            if (threadIdx.x % 32 == 0) " + _ARRIVE)]),
        ("who starts the copy makes the fence", [
            ("fence_async();", ";"), ("mbarrier_expect(", "fence_async();\n            mbarrier_expect(")]),
        ("the last warp copies", [("if (threadIdx.x < 32)", "if (threadIdx.x >= 128)"),
                                  ("threadIdx.x == 0; row", "threadIdx.x == 128; row"),
                                  ("threadIdx.x - 32; i", "threadIdx.x; i")]),
        ("neighbouring rows a block", [
            (_COUNT, "    int each = (rows + gridDim.x - 1) / gridDim.x, mine = each * blockIdx.x, count = 0; "),
            (_FIRST, "int row = mine;"), ("row < rows", "row < min(rows, mine + each)"), (_NEXT, "++row")]),
        ("four neighbours a thread", [(_WRITE, """for (int i = 0; i < 4; ++i) {
                int column = threadIdx.x % 128 * 4 + i;
                out[row * ROW + column] = slots[slot][ROW - 1 - column];
            }""")]),
        ("a warp writes a row", [
            ("empty[slot], 128)", "empty[slot], 32)"),
            ("            int slot = count % SLOTS, turn = count / SLOTS;\n            mbarrier_wait(&full",
             "            int slot = count % SLOTS, turn = count / SLOTS;\n"
             "            if (count % 4 != threadIdx.x / 32 - 1) continue;\n            mbarrier_wait(&full"),
            (_WRITE, _WRITE.replace("threadIdx.x - 32", "threadIdx.x % 32").replace("i += 128", "i += 32"))]),
        ("four at a time", [(_WRITE, """for (int i = threadIdx.x - 32; i < ROW / 4; i += 128) {
                float4 v = ((float4*)slots[slot])[ROW / 4 - 1 - i];
                ((float4*)(out + row * ROW))[i] = make_float4(v.w, v.z, v.y, v.x);
            }""")]),
    ],
}  # fmt: skip
WRONG_ANSWERS = {
    "08.11": [
        ("float32", [("* 64 * 2 +", "* 64 * 4 +")], "one more fits"),
        ("bytes forgotten", [("* 64 * 2 +", "* 64 +")], "slots need more"),
        ("kept forgotten", [("(232448 - kept) //", "232448 //")], "slots need more"),
        ("kept not asked for", [("slots * slot + kept", "slots * slot")], "and what is kept"),
        ("all of the limit", [("slots * slot + kept", "232448")], "not the rest of the limit"),
        ("no barriers", [(" + 2 * 8", "")], "full and an empty barrier"),
        ("no multiple", [(" // 8 * 8", "")], "takes multiples of 8"),
        ("producer forgotten", [(" - 128 * producer", "")], "producer's 128 threads keep theirs"),
        ("all of the SM", [("65536 // threads // 8 * 8 * threads", "65536")], "at the launch"),
        ("a share for the producer", [("128 * consumers", "128 * (consumers + 1)")], "8 more would fit"),
        ("not whole", [(_REGISTERS, "left / (128 * consumers)")], "// divides and rounds down"),
        ("two numbers", [(", left // (128 * consumers) // 8 * 8", "")], "return slots, shared_mem, registers"),
    ],
    "08.12": [
        ("only the constants", [(_OPERANDS, "s.slots[slot].A + mine * TK, s.slots[slot].B,")],
         "rows are read that are not in this slot"),
        ("one warp of each consumer waits", [
            ("mbarrier_wait(&s.full", "if (threadIdx.x % 128 < 32) mbarrier_wait(&s.full")],
         "each warp of the consumer waits by itself"),
        ("operands, and the old tile", [("TM = 256, TN = 128", "TM = 128, TN = 256")], "Are TM and TN those"),
        ("half of A alone", [("s.slots[slot].A, k_tile > 0", "s.slots[slot].A + mine * TK, k_tile > 0")],
         "columns 64 to 127 belong to"),
        ("64 halves for 64 rows", [(_OPERANDS, "s.slots[slot].B + mine, s.slots[slot].A,")], "where do they begin"),
        ("nothing is stored", [(_STORE, ";")], "C is as it was before"),
        ("returns with many k-tiles", [("    extern __s", "    if (K > 1024) return;\n    extern __s")],
         "with fewer k-tiles it is right"),
        ("rows of C that are M apart", [("8 * j + i) * N +", "8 * j + i) * M +")], "How far apart are two rows"),
        ("store_sums", [
            (_STORE, ";"), ("        int thread =", "        store_sums(C + (size_t)m * N + n + mine, N, d);\n"
                                                    "        int thread =")], "its row comes from the column"),
        ("mine is a row", [("column = n + mine +", "column = n +"), ("row = m +", "row = m + mine +")],
         "and from the warpgroup"),
        ("rows and columns of the sums exchanged", [(_STORE, "C[(size_t)(row + 8 * h + i) * N + column + 8 * j] = "
                                                             "__half(d[4 * j + 2 * h + i]);")],
         "its row comes from the column"),
        ("i and h exchanged", [("d[4 * j + 2 * h + i]", "d[4 * j + 2 * i + h]")], "Which of the two is a row of C"),
        ("mine left out", [("column = n + mine +", "column = n +")], "its row comes from the column"),
        ("all threads of the block", [("thread = threadIdx.x % 128", "thread = threadIdx.x")],
         "counted in its warpgroup"),
        ("a warp's rows left out", [("thread / 32 * 16 + ", "")], "its row comes from the column"),
    ],
    "08.13": [
        ("nothing", [(_LOAD_A, _LOAD_A.replace("_shared<2>", "")), (_TELL, _OWN),
                     ("empty[slot], 4)", "empty[slot], 2)")], "not all of A is fetched once for both"),
        ("shared in a branch that never runs", [
            (_LOAD_A, f"if (M < 0) {_LOAD_A} else {_LOAD_A.replace('_shared<2>', '')}")], "not all of A is fetched"),
        ("every second k-tile shared", [
            (_LOAD_A, f"if (k_tile % 2) {_LOAD_A} else {_LOAD_A.replace('_shared<2>', '')}")], "not all of A"),
        ("only the copy", [(_TELL, _OWN),
                           ("empty[slot], 4)", "empty[slot], 2)")], "whose consumers still read it"),
        ("counts two", [("empty[slot], 4)", "empty[slot], 2)")], "whose consumers still read it"),
        ("tells its own block alone", [(_TELL, _OWN)], "the consumers of both"),
        ("tells the other block alone", [
            (_TELL, "if (thread == 0) mbarrier_arrive_at(&s.empty[slot], 1 - cluster_rank());")],
         "the consumers of both"),
        ("B, as the lesson", [
            ("load_rows(TN,", "load_rows_shared<2>(TN,"), ("load_rows_shared<2>(TM,", "load_rows(TM,")],
         "Which matrix is the same in both"),
        ("block 0 sends all", [(_LOAD_A, f"if (cluster_rank() == 0) {_ALL_OF_A}{_BOTH}")], "a half from each block"),
        ("block 1 sends all", [(_LOAD_A, f"if (cluster_rank() == 1) {_ALL_OF_A}{_BOTH}")], "a half from each block"),
        ("both send all", [(_LOAD_A, _ALL_OF_A + _BOTH)], "each row must be sent once"),
        ("half of the bytes", [("sizeof(Slot))", "sizeof(Slot) - TM * TK)")], "each row must be sent once"),
        ("both the first half", [(_LOAD_A, "{ int row = 0; " + _BOTH + " }")], "each row must be sent once"),
        ("returns in a far pair", [("    int m =", "    if (blockIdx.x > 5) return;\n    int m =")],
         "with fewer blocks it is right"),
        ("returns in the second row", [("    int m =", "    if (blockIdx.y > 0) return;\n    int m =")],
         "with fewer blocks it is right"),
        ("returns with many k-tiles", [("    int m =", "    if (K > 1024) return;\n    int m =")],
         "with fewer k-tiles it is right"),
        ("one warp of each consumer waits", [("mbarrier_wait(&s.full", "if (thread < 32) mbarrier_wait(&s.full")],
         "each warp of the consumer waits by itself"),
        ("no wait for empty", [("            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);\n", "")],
         "is the slot free by then"),
        ("a block leaves early", [("    cluster_sync();                       ", "    //")], "put it back"),
    ],
    "08.14": [
        ("no fence", [("fence_async();", ";")], "or the one that starts the copy"),
        ("slot and turn from the row", [("count % SLOTS, turn = count / SLOTS", "row % SLOTS, turn = row / SLOTS")],
         "how many rows *this block* has brought"),
        ("one slot", [("slot = count % SLOTS, turn = count / SLOTS", "slot = 0, turn = count")],
         "all three slots are used"),
        ("no wait for empty", [(_EMPTY, "")], "it waits at `empty` before it fills"),
        ("one thread arrives for all", [("empty[slot], 128)", "empty[slot], 1)"),
                                        (_ARRIVE, "if (threadIdx.x == 32) " + _ARRIVE)],
         "How many threads must have read it"),
        ("no wait for full", [("            mbarrier_wait(&full[slot], turn % 2);\n", "")], "waits at `full`"),
        ("the parity of full for empty", [("(turn + 1) % 2", "turn % 2")], "the phase before the first has parity 1"),
        ("nobody meets", [("    __syncthreads();\n", "")], "between `mbarrier_init` and the first use"),
        ("nobody copies", [("row < rows && threadIdx.x == 0", "row < rows && threadIdx.x == 32")],
         "Does a thread come to the line that starts copies"),
        ("one arrival too many", [("empty[slot], 128)", "empty[slot], 160)")], "somebody waits for an arrival"),
        ("one lane of each warp waits", [("mbarrier_wait(&full", "if (threadIdx.x % 32 == 0) mbarrier_wait(&full")],
         "a lane reads a slot and has not waited"),
        ("a warp starts copies", [("row < rows && threadIdx.x == 0", "row < rows")], "One thread starts the copy"),
        ("half of the bytes expected", [("expect(&full[slot], ROW *", "expect(&full[slot], ROW / 2 *")],
         "the bytes of one row"),
        ("floats for bytes", [("ROW * sizeof(float)", "ROW")], "a row has 512 floats, 2048 bytes"),
        ("step left out", [("row * step * ROW", "row * ROW")], "row r comes from row r * step"),
        ("not turned round", [("ROW - 1 - i", "i")], "its last number comes first"),
        ("nothing is stored", [(_WRITE, "")], "out is as it was before"),
        ("every block makes all rows", [(_FIRST, "int row = 0;"), (_NEXT, "++row")], "and no other"),
        ("the last block makes all rows", [(_FIRST, "int row = blockIdx.x == gridDim.x - 1 ? 0 : rows;"),
                                           (_NEXT, "++row")], "and no other"),
        ("returns with many rows", [(_COUNT, "if (rows > 64) return;\n" + _COUNT)],
         "does a number stand where `rows` should"),
        ("returns in a far block", [(_COUNT, "if (blockIdx.x > 5) return;\n" + _COUNT)],
         "with fewer blocks it is right"),
        ("one row a block", [("row += gridDim.x", "row += rows")], "block b makes the rows b"),
        ("waits until it has landed", [("&full[slot]);\n        }\n    } else",
                                       "&full[slot]);\n            mbarrier_wait(&full[slot], turn % 2);\n        }\n"
                                       "    } else")], "at `full` wait those who read"),
        ("one thread writes", [(_WHO, "int i = threadIdx.x == 32 ? 0 : ROW; i < ROW; ++i")], "128 threads write"),
        ("one warp writes", [(_WHO, "int i = threadIdx.x - 32; threadIdx.x < 64 && i < ROW; i += 32")],
         "128 threads write"),
        ("two warps write", [(_WHO, "int i = threadIdx.x - 32; threadIdx.x < 96 && i < ROW; i += 64")],
         "128 threads write"),
        ("one thread of each warp writes", [
            (_WHO, "int i = threadIdx.x / 32 - 1; threadIdx.x % 32 == 0 && i < ROW; i += 4")], "128 threads write"),
        ("no copies", [(_WRITE, _WRITE.replace("slots[slot][", "x[row * step * ROW + "))], "a whole row, 2048 bytes"),
    ],
}  # fmt: skip
