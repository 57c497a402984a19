"""The exercises in notebooks/exercises/06_complete_gemm.ipynb."""

from tests.lessons import kernel, replaced, solved_function


def _kernel_and_tests(skeleton, solution, changes=()):
    """The kernel as it stands, or with a change that is called "kernel"; and the tests of the solution."""
    given, *texts = skeleton[0], *changes
    if texts and texts[0][0] == "kernel":
        (_, change), *texts = texts
        given = kernel(replaced(given.code, *change), given.name)
    return given, solved_function("my_answer")(skeleton, solution, texts)


_WAVES = "waves = -(-tiles * parts // sms)"
_BEST = "return min(range(1, 9), key=time)"
_LOOP_OF_ROWS = "    float sum = 0;\n"
_ALL_BY_ONE = """    float sum = 0;
    if (blockIdx.x) return;
    for (int block = 0; block < gridDim.x; ++block) {
        float own = 0;
        for (int row = block * part; row < (block + 1) * part; ++row) own += A[row * 64 + column];
        sum += own;
    }
    C[column] = sum;
    return;
"""
_BARRIER = "    __syncthreads();                                  // all threads of this block have written\n"
_COUNT = """    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(count, 1) == gridDim.x - 1;
        __threadfence();
    }
"""
_FIRST, _THEN = "{\n        __threadfence();\n        is_last", "gridDim.x - 1;\n        __threadfence();\n"
_BACK = "    if (threadIdx.x == 0) atomicExch(count, 0);       // for the next launch\n"
_SUM = "    float sum = 0;\n"
_RETURN = "    if (!is_last) return;"
_RESET = "    if (threadIdx.x == 0) atomicExch(count, 0);\n"
_IN_0 = _RESET.replace("threadIdx.x", "blockIdx.x + threadIdx.x")
_IN_LAST = _RESET.replace("(threadIdx.x == 0", "(threadIdx.x == 0 && blockIdx.x == gridDim.x - 1")
_ORDER = "for (int block = 0; block < gridDim.x; ++block)"
_AGAIN = (
    _ORDER
    + """ {
        float own = 0;
        for (int row = block * part; row < (block + 1) * part; ++row) own += A[row * 64 + column];
        sum += own;
    }"""
)
_CHOICE = """    if (all % 8 == 0) copy<uint4>(from + first, to, count, width, stride);
    else if (all % 4 == 0) copy<uint2>(from + first, to, count, width, stride);
    else if (all % 2 == 0) copy<unsigned>(from + first, to, count, width, stride);
    else copy<unsigned short>(from + first, to, count, width, stride);
"""
_BY_8, _BY_4, _BY_2, _BY_1 = _CHOICE.splitlines(keepends=True)
_ALL = "int all = first | stride | width;"
_ONE, _TWO = "(2, 0.5, sums, bias, C)", "(1, 0, sums + 2049, bias, np.full((8, 8), np.nan))"

_FIRST_OF, _EARLIER = "max(begin, tile_begin)", "end < tile_begin + k_tiles"
_WROTE = "            __syncthreads();                          // all have written\n"
_RAISED = "if (t == 0) release(&flags[mine]);"
_WALK = "for (int other = mine; begin_of(other, row) > tile_begin;) {\n                --other; "
_LOOK = "while (!acquired(&flags[other])) {}"
_LOOK_OF_ONE = f"if (t == 0)\n                    {_LOOK}"
_KNOW = "                __syncthreads();                      // all know\n"
_ADD = "sum += left[other * width + t];"
_PIECE = "int tile = (end - 1) / k_tiles, tile_begin = tile * k_tiles;"
_FORWARD = [  # from the beginning of the share to its end
    (
        "int begin = begin_of(mine, row), end = begin_of(mine + 1, row);",
        "int begin = begin_of(mine, row), last = begin_of(mine + 1, row);",
    ),
    ("while (begin < end)", "while (begin < last)"),
    (
        _PIECE,
        "int tile = begin / k_tiles, tile_begin = tile * k_tiles, end = min(last, tile_begin + k_tiles);",
    ),
    ("end = first;", "begin = end;"),
]

_LOAD = "            __half add = bias[column];\n"
_GUARD = "            if (column >= N) continue;\n"
_LOOPS = """    #pragma unroll
    for (int j = 0; j < 8; ++j)
        #pragma unroll
        for (int right = 0; right < 2; ++right) {     // a column of C
"""
_DOWN = """            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int below = 0; below < 2; ++below) {
"""
_STORED = "if (row < M) C[row * N + column] = finish(sum[i][j][2 * below + right], add);"
_GELU = "x * 0.5f * (1 + erff(x * 0.70710678f))"

SOLVED = {"06.11": solved_function("best_parts"), "06.12": _kernel_and_tests}
RIGHT_ANSWERS = {
    "06.11": [
        ("a loop", [(_BEST, "best = 1\n    for parts in range(2, 9):\n        if time(parts) < time(best):\n"
                            "            best = parts\n    return best")]),
        ("ceil", [(_WAVES, "from math import ceil\n        waves = ceil(tiles * parts / sms)"),
                  ("-(-k_tiles // parts)", "ceil(k_tiles / parts)")]),
        ("pairs", [(_BEST, "return min((time(parts), parts) for parts in range(1, 9))[1]")]),
    ],
    "06.12": [
        ("three tests", [(_ONE, "(1, 0, sums, bias, C), (3, 0, sums, bias, C)"),
                         (_TWO, "(1, 2, sums + 4095, bias, C)"),
                         ("(3, 0, sums, bias, C", "(3, 0, sums, bias, C * np.nan")]),
        ("an infinite C", [("np.nan", "np.inf")]),
        ("random numbers", [("sums, C = np.arange(64.0).reshape(8, 8) - 8, np.arange(64.0).reshape(8, 8)",
                             "random = np.random.default_rng(1)\n"
                             "sums, C = random.integers(-64, 65, (8, 8)), random.integers(-64, 65, (8, 8))")]),
    ],
    "06.13": [
        ("fences of all threads as well", [(_BARRIER, "    __threadfence();\n" + _BARRIER)]),
        ("fences of all threads, and none of thread 0 before it counts", [  # __threadfence() is fence.sc
            (_BARRIER, "    __threadfence();\n" + _BARRIER), (_FIRST, "{\n        is_last")]),
        ("another thread counts", [("if (threadIdx.x == 0) {", "if (threadIdx.x == 40) {")]),
        ("a count that comes round", [("atomicAdd(count, 1)", "atomicInc(count, gridDim.x - 1)"), (_BACK, "")]),
        ("set back by an exchange, before the sums", [
            (_BACK, ""), ("    sum = 0;\n", "    sum = 0;\n    if (threadIdx.x == 5) atomicExch(count, 0);\n")]),
    ],
    "06.14": [
        ("the lowest bit", [(_CHOICE, """    all |= 8, all &= -all;
    if (all == 8) copy<uint4>(from + first, to, count, width, stride);
    if (all == 4) copy<uint2>(from + first, to, count, width, stride);
    if (all == 2) copy<unsigned>(from + first, to, count, width, stride);
    if (all == 1) copy<unsigned short>(from + first, to, count, width, stride);
""")]),
        ("by the address", [(_ALL, "int all = (int)((size_t)(from + first) / 2) | stride | width;")]),
        ("rows by warps", [
            ("    for (int i = threadIdx.x; i < count * words; i += blockDim.x)\n"
             "        ((Word*)to)[i] = *(const Word*)(from + i / words * stride + i % words * HALVES);",
             "    for (int row = threadIdx.x / 32; row < count; row += blockDim.x / 32)\n"
             "        for (int i = threadIdx.x % 32; i < words; i += 32)\n"
             "            ((Word*)(to + row * width))[i] = ((const Word*)(from + row * stride))[i];")]),
    ],
    "06.15": [
        ("every thread looks", [(_LOOK_OF_ONE, _LOOK), (_KNOW, "")]),
        ("from the lowest block up", [
            (_WALK, "int lowest = mine;\n            while (begin_of(lowest, row) > tile_begin) --lowest;\n"
                    "            for (int other = lowest; other < mine; ++other) {\n")]),
        ("by the tile of the block", [
            (_WALK, "for (int other = mine - 1; other >= 0 && begin_of(other + 1, row) > tile_begin; --other) {\n")]),
        ("the end by a remainder", [(_EARLIER, "end % k_tiles != 0")]),
        ("a fence as well", [(_WROTE, "            __threadfence();\n" + _WROTE)]),
    ],
    "06.16": [
        ("zero where there is no column", [
            (_GUARD, ""), (_LOAD, "            __half add = column < N ? bias[column] : __half(0);\n"),
            ("if (row < M) C", "if (row < M && column < N) C")]),
        ("one loop for both columns", [
            (_LOOPS, "    #pragma unroll\n    for (int of = 0; of < 16; ++of) {\n"
                     "        int j = of / 2, right = of % 2;\n        {\n"),
            ("        }\n}\n", "        }\n    }\n}\n")]),
        ("normcdff", [(_GELU, "x * normcdff(x)")]),
    ],
}  # fmt: skip
WRONG_ANSWERS = {
    "06.16": [
        ("a load for each row", [(_LOAD, ""), ("right], add)", "right], bias[column])")],
         "which two loops stand outside"),
        ("loops left to the compiler", [(_LOOPS, _LOOPS.replace("#pragma unroll", "")),
                                        (_DOWN, _DOWN.replace("#pragma unroll", ""))], "for that one alone"),
        ("a bias of a column that is not there", [(_GUARD, ""), ("if (row < M) C", "if (row < M && column < N) C")],
         "`bias` has N halves"),
        ("the bias of the column in the tile", [(_LOAD, _LOAD.replace("column", "column - n_tile"))],
         "not from the tile's first"),
        ("the bias of the row", [
            (_LOAD, ""), ("right], add)", "right], bias[min(row, N - 1)])")], "belongs to a column"),
        ("sums exchanged", [("2 * below + right", "2 * right + below")], "Which sum do you take"),
        ("no GELU", [(_GELU, "x")], "now x times the share"),
        ("rounded twice", [("x = sum + float(bias)", "x = float(__half(sum + float(bias)))")], "Keep floats"),
        ("rows at the end left out", [("if (row < M) C", "if (row < M / 8 * 8) C")], "has a place in C is stored"),
        ("rows behind the end", [("if (row < M) C", "if (row <= M) C")], "C M rows of N"),
        ("nothing done for more than 1000 rows", [
            ("    int lane = ", "    if (M > 1000) return;\n    int lane = ")], "should?"),
        ("by hand", [("        for (int step = 0;", "        for (int step = 9;")], "Which sum do you take"),
    ],
    "06.15": [
        ("nothing taken", [(_WALK, "for (int other = 0; other;) {\n")], "are they added to the sum"),
        ("one block alone", [(_WALK, "if (int other = mine; begin_of(mine, row) > tile_begin) {\n --other;")],
         "three parts or more"),
        ("the tile's beginning always", [(_FIRST_OF, "tile_begin")], "added once"),
        ("no barrier before the flag", [(_WROTE, "")], "which link is missing"),
        ("no barrier behind the wait", [(_KNOW, "")], "which link is missing"),
        ("the barrier of one thread", [
            (_WROTE, ""), (_RAISED, "if (t == 0) {\n                __syncthreads();\n release(&flags[mine]);\n }")],
         "outside of the if of one thread"),
        ("nobody leaves", [(_EARLIER, "false")], "raises its own flag"),
        ("nobody stores", [(_EARLIER, "true")], "is stored by one block"),
        ("the flag of the tile", [(_RAISED, _RAISED.replace("mine", "tile"))], "its block's own flag"),
        ("no flag", [(_RAISED, "")], "raises its own flag"),
        ("looks a hundred times", [(_LOOK, "for (int i = 0; i < 100 && !acquired(&flags[other]); ++i) {}")],
         "later than any number of looks"),
        ("nothing done above twelve blocks", [(_PIECE, _PIECE + "\n        if (gridDim.x > 12) return;")],
         "a number stands where"),
        ("nothing done in long tiles", [(_PIECE, _PIECE + "\n        if (k_tiles > 40) return;")],
         "a number stands where"),
        ("leaves where the beginning is missing", [(_EARLIER, "first > tile_begin")], "lacks the tile's end"),
        ("a piece over several tiles", [(_FIRST_OF, "begin")], "reach over its tile's beginning"),
        ("left in the row of the tile", [("left[mine * width + t] = sum;", "left[tile * width + t] = sum;")],
         "a row of `left` is its block's own"),
        ("from the beginning", _FORWARD, "a block leaves first, and waits then"),
        ("adds the k-tiles itself", [
            (_WALK, "for (int k_tile = tile_begin; k_tile < first; ++k_tile) sum += A[k_tile * width + t];\n"
                    "            for (int other = 0; other;) {\n")], "comes from `left`"),
        ("left is a sum of the whole share", [
            ("left[mine * width + t] = sum;",
             "left[mine * width + t] = sum;\n            if (begin < first) left[mine * width + t] += 1;"),
            (_ADD, "sum += left[other * width + t] - (begin_of(other, row) < tile_begin);")], "and nothing else"),
        ("one block too far", [(_WALK, "for (int other = mine; other > 0;) {\n --other;")], ""),
    ],
    "06.11": [
        ("always eight", [(_BEST, "return 8")], "two waves where fewer need one"),
        ("nothing extra", [(" + (extra if parts > 1 else 0)", "")], "the sums cost `extra`"),
        ("extra for each part", [("(extra if", "(extra * parts if")], "counted once"),
        ("extra in each wave", [("waves * -(-k_tiles // parts) + (extra if parts > 1 else 0)",
                                 "waves * (-(-k_tiles // parts) + (extra if parts > 1 else 0))")],
         "where do your brackets end"),
        ("parts of waves", [(_WAVES, "waves = tiles * parts / sms")], "round the waves up"),
        ("the last wave dropped", [(_WAVES, "waves = tiles * parts // sms")], "round the waves up"),
        ("k-tiles dropped", [("-(-k_tiles // parts)", "(k_tiles // parts)")], "somebody must multiply"),
        ("k-tiles not rounded", [("-(-k_tiles // parts)", "k_tiles / parts")], "the longest one decides"),
        ("no waves", [(_WAVES, "waves = 1")], "are there SMs for all"),
        ("one full wave", [(_BEST, "return min(max(sms // tiles, 1), 8)")], "Compute all eight times"),
        ("the largest", [("range(1, 9)", "range(8, 0, -1)")], "the one with fewest parts"),
        ("the time", [(_BEST, "return min(map(time, range(1, 9)))")], "and not its time"),
        ("132 SMs", [("// sms", "// 132")], "use the argument sms"),
        ("seven parts at most", [("range(1, 9)", "range(1, 8)")], "where does your range end"),
        ("four parts at most", [("range(1, 9)", "range(1, 5)")], "where does your range end"),
    ],
    "06.12": [
        ("as it was", [(_ONE + ",", "(1, 0, np.ones((8, 8)), np.ones(8), np.zeros((8, 8))),"), (_TWO + ",", "")],
         "look the same where all its elements are equal"),
        ("a bias of ones", [("2 * np.arange(8.0) + 2", "np.ones(8)")], "where all its elements are equal"),
        ("no negative sum", [("reshape(8, 8) - 8,", "reshape(8, 8),")], "negative: does any test"),
        ("alpha 1", [("(2, 0.5", "(1, 0.5")], "where alpha is 1"),
        ("beta 0", [("(2, 0.5", "(2, 0")], "beta and C are not 0"),
        ("C of zeros", [(_ONE, "(2, 0.5, sums, bias, 0 * C)")], "beta and C are not 0"),
        ("a C without NaN", [("np.full((8, 8), np.nan)", "C")], "What in C would show"),
        ("small sums", [("sums + 2049", "sums")], "odd numbers"),
        ("only one test", [(_TWO + ",", "")], "What in C would show"),
        ("NaN where it is read", [(_ONE, "(2, 0.5, sums, bias, C * np.nan)")], "goes into the result"),
        ("too large", [("sums + 2049", "sums * 1e5 + 0.1")], "are infinite in a half"),
        ("a bias for each element", [("2 * np.arange(8.0) + 2", "np.ones((8, 8))")], "the bias has 8 elements"),
        ("four tests", [(_TWO, _ONE + "," + _TWO + "," + _TWO)], "two are enough"),
        ("no test", [(_ONE + ",", ""), (_TWO + ",", "")], "two are enough"),
        ("no list", [("my_answer = tests", "my_answer = 3")], "and a list of tests"),
        ("all is negative", [(_ONE, "(2, 0.5, sums - 999, bias, C)"), ("sums + 2049", "-sums - 999")],
         "must be positive to show anything"),
        ("a kernel that fails with each mistake", [
            ("kernel", ("column] = __half(MISTAKE", "column] = MISTAKE ? __half(99) : __half(MISTAKE")),
            (_TWO + ",", "")], "put it back as it was"),
        ("four things", [(_ONE, "(2, 0.5, sums, bias)")], "two numbers and three arrays"),
    ],
    "06.13": [
        ("one block does everything", [(_LOOP_OF_ROWS, _ALL_BY_ONE)], "leaves its part in `left`"),
        ("the last block adds up all rows again", [
            (_ORDER + " sum += left[block * 64 + column];", _AGAIN)], "by the last one, once"),
        ("as it was", [(_BARRIER, ""), (_BACK, "")], "what makes thread 0 know"),
        ("only the barrier", [(_BACK, "")], "what is in `count`"),
        ("only the count", [(_BARRIER, "")], "what makes thread 0 know"),
        ("fences of all threads, no barrier", [(_BARRIER, "    __threadfence();\n")], "what makes thread 0 know"),
        ("a barrier of the warp", [(_BARRIER, "    __syncwarp();\n")], "what makes thread 0 know"),
        ("no fence before the count", [(_FIRST, "{\n        is_last")], "what makes thread 0 know"),
        ("no fence behind the count", [(_THEN, "gridDim.x - 1;\n")], "what orders the reads"),
        ("no barrier behind the count", [(_COUNT + "    __syncthreads();\n", _COUNT)], "is_last is written by one"),
        ("set back too early", [
            (_BACK, ""), ("    if (!is", "    if (threadIdx.x == 0) atomicExch(count, 0);\n    if (!is")],
         "who alone knows that all have"),
        ("set back by every block at first", [(_BACK, ""), (_SUM, _RESET + _SUM)], "who alone knows that all have"),
        ("set back by every block behind its count", [(_BACK, ""), (_RETURN, _RESET + _RETURN)],
         "who alone knows that all have"),
        ("set back by block 0 at first", [(_BACK, ""), (_SUM, _IN_0 + _SUM)], "who alone knows that all have"),
        ("set back by block 0 before a barrier", [(_BACK, ""), (_SUM, _IN_0 + "    __syncthreads();\n" + _SUM)],
         "who alone knows that all have"),
        ("set back by the last block at first", [(_BACK, ""), (_SUM, _IN_LAST + _SUM)],
         "who alone knows that all have"),
        ("set back by block 0 behind its count", [(_BACK, ""), (_RETURN, _IN_0 + _RETURN)],
         "who alone knows that all have"),
        ("set back by the last block behind its count", [(_BACK, ""), (_RETURN, _IN_LAST + _RETURN)],
         "who alone knows that all have"),
        ("block 0 waits for all", [
            ("is_last = atomicAdd(count, 1) == gridDim.x - 1;",
             "atomicAdd(count, 1);\n        is_last = blockIdx.x == 0;\n"
             "        while (is_last && atomicAdd(count, 0) < gridDim.x) ;")],
         "nobody need wait"),
        ("a count that goes on", [("atomicAdd(count, 1) ==", "atomicAdd(count, 1) % gridDim.x =="), (_BACK, "")],
         "may have another number of blocks"),
        ("set back by a plain store", [("atomicExch(count, 0)", "*count = 0")], "by atomics only"),
        ("added the other way", [(_ORDER, "for (int block = gridDim.x - 1; block >= 0; --block)")],
         "must give the same bits"),
        ("the own part first", [
            ("    sum = 0;\n    for (int block", "    for (int block"),
            ("++block) sum +=", "++block) if (block != blockIdx.x) sum +=")],
         "must give the same bits"),
        ("added to C", [("C[column] = sum;", "C[column] += sum;")], "the last block overwrites it"),
        ("a meeting of the warp for a fence", [(_FIRST, "{\n        __syncwarp();\n        is_last")], "in a branch"),
        ("nothing done for more than 16 blocks", [(_SUM, "    if (gridDim.x > 16) return;\n" + _SUM)],
         "with fewer blocks it is right"),
        ("nothing done by block 20", [(_SUM, "    if (blockIdx.x == 20) return;\n" + _SUM)],
         "with fewer blocks it is right"),
        ("for four blocks alone", [("atomicAdd(count, 1) == gridDim.x - 1", "atomicInc(count, 3) == 3"), (_BACK, "")],
         "in the first launch of blocks: 1, C stays"),
        ("three rows for each block", [("part = rows / gridDim.x", "part = 3")], "everything else was right"),
        ("three rows of each block at most", [("row < first + part", "row < first + min(part, 3)")],
         "does a number stand in its place"),
        ("one too many", [("== gridDim.x - 1;", "== gridDim.x;")], "nobody was the last"),
        ("counted by every thread", [("if (threadIdx.x == 0) {", "{")], "one thread counts"),
    ],
    "06.14": [
        ("as it was", [(_BY_8 + _BY_4 + _BY_2 + "    else ", "    ")], "wider words fit here"),
        ("always 16 bytes", [("if (all % 8 == 0) ", ""), (_BY_4 + _BY_2 + _BY_1, "")], "no multiple of your word"),
        ("first forgotten", [(_ALL, "int all = stride | width;")], "no multiple of your word"),
        ("stride forgotten", [(_ALL, "int all = first | width;")], "no multiple of your word"),
        ("the sum of the three", [(_ALL, "int all = first + stride + width;")], "no multiple of your word"),
        ("width forgotten", [(_ALL, "int all = first | stride;")], "ends with the row"),
        ("16 or 2 bytes", [(_BY_4 + _BY_2, "")],
         "a case for each of 16, 8, 4 and 2"),
        ("no words of 8 bytes", [(_BY_4, "")],
         "a case for each of 16, 8, 4 and 2"),
        ("bytes for halves", [("% 8 == 0", "% 16 == 0"), ("% 4 == 0", "% 8 == 0"), ("% 2 == 0", "% 4 == 0")],
         "wider words fit here"),
        ("four rows always", [("i < count * words", "i < 4 * words")], "there are `count` rows"),
        ("256 words at most", [("int words = width / HALVES;", "int words = min(width / HALVES, 256);")],
         "each has width / HALVES words"),
        ("halves for words", [("i < count * words;", "i < count * width;")], "count words and not halves"),
        ("column in words", [("i % words * HALVES", "i % words")], "no multiple of your word"),
        ("nothing done above the sizes of the text", [
            (_ALL, "if (count > 9 || width > 4096) return;\n    " + _ALL)], "come to its store"),
        ("nothing done for more than 100 rows", [(_ALL, "if (count > 100) return;\n    " + _ALL)],
         "where first, count or blockDim.x should"),
        ("nothing done behind half 1000", [(_ALL, "if (first > 1000) return;\n    " + _ALL)],
         "where first, count or blockDim.x should"),
        ("nothing done by more than 128 threads", [(_ALL, "if (blockDim.x > 128) return;\n    " + _ALL)],
         "where first, count or blockDim.x should"),
        ("the first warp alone", [
            ("for (int i = threadIdx.x; i < count * words; i += blockDim.x)",
             "if (threadIdx.x < 32) for (int i = threadIdx.x; i < count * words; i += 32)")],
         "all threads of the block share the words"),
        ("steps of 64", [("i += blockDim.x", "i += 64")], "all threads of the block share the words"),
        ("first not added", [("copy<unsigned short>(from + first,", "copy<unsigned short>(from,")], "behind `first`"),
    ],
}  # fmt: skip
