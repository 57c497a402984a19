"""The exercises in notebooks/exercises/04_tensor_cores.ipynb."""

from tests.lessons import solved_function

_LANE, _REGISTER, _HALF = "row % 8 * 4 + k % 8 // 2", "row // 8 + k // 8 * 2", "half = k % 2"
_LOOKED_UP = "lane = [(r == row) & (c == k) for r, c in [{}]][0].any(axis=1).argmax()"
_PACK = "__half_as_ushort(second) << 16 | __half_as_ushort(first)"
_B0, _B1 = "pack(Bs[row][column], Bs[row + 1][column])", "pack(Bs[row + 8][column], Bs[row + 9][column])"
_AT = "Bs[lane % 16][lane / 16 * 8]"
_FIRST, _SECOND = "d[0], a, b[0], b[1]", "d[1], a, b[2], b[3]"
_ROW = "lane % 8 / 2 * 4 + lane / 16 * 2 + lane % 2"
_STORE = """    C += (m + lane / 4) * N + n + lane % 4 * 4;       // four neighbours: two of mma 0, two of mma 1
    for (int i = 0; i < 2; ++i) {
        __half2 four[2] = {__floats2half2_rn(d[0][2 * i], d[0][2 * i + 1]),
                           __floats2half2_rn(d[1][2 * i], d[1][2 * i + 1])};
        *(uint2*)&C[8 * i * N] = *(uint2*)four;
    }
"""
_PLAIN_ROW = "lane % 8 + lane / 16 * 8"
_PLAIN_STORE = """    C += (m + lane / 4) * N + n + lane % 4 * 2;
    for (int j = 0; j < 2; ++j) {
        *(__half2*)&C[8 * j] = __floats2half2_rn(d[j][0], d[j][1]);
        *(__half2*)&C[8 * j + 8 * N] = __floats2half2_rn(d[j][2], d[j][3]);
    }
"""
_THROUGH_SHARED = """    for (int j = 0; j < 2; ++j) {
        *(__half2*)&As[lane / 4][8 * j + lane % 4 * 2] = __floats2half2_rn(d[j][0], d[j][1]);
        *(__half2*)&As[lane / 4 + 8][8 * j + lane % 4 * 2] = __floats2half2_rn(d[j][2], d[j][3]);
    }
    __syncwarp();
    *(uint4*)&C[(m + lane / 2) * N + n + lane % 2 * 8] = *(uint4*)&As[lane / 2][lane % 2 * 8];
"""
_SHUFFLED = """    C += (m + lane / 4 + lane % 2 * 8) * N + n + lane % 4 / 2 * 4;  // odd lanes: 8 rows below
    for (int j = 0; j < 2; ++j) {
        bool odd = lane % 2;
        float s0 = __shfl_xor_sync(~0u, odd ? d[j][0] : d[j][2], 1);
        float s1 = __shfl_xor_sync(~0u, odd ? d[j][1] : d[j][3], 1);
        __half2 four[2] = {odd ? __floats2half2_rn(s0, s1) : __floats2half2_rn(d[j][0], d[j][1]),
                           odd ? __floats2half2_rn(d[j][2], d[j][3]) : __floats2half2_rn(s0, s1)};
        *(uint2*)&C[8 * j] = *(uint2*)four;
    }
"""
"""Lanes exchange sums and store 8 bytes, but two lanes in each of 16 rows: half a sector again."""
_BY_SHUFFLE = """    C += (m + lane / 4) * N + n + lane % 4 * 4;
    for (int i = 0; i < 2; ++i) {                     // columns 4 q to 4 q + 3, of mma q / 2, for lane q
        float four[4];
        for (int e = 0; e < 4; ++e) {
            int from = lane / 4 * 4 + lane % 2 * 2 + e / 2;
            float first = __shfl_sync(~0u, d[0][2 * i + e % 2], from);
            float second = __shfl_sync(~0u, d[1][2 * i + e % 2], from);
            four[e] = lane % 4 / 2 ? second : first;
        }
        __half2 word[2] = {__floats2half2_rn(four[0], four[1]), __floats2half2_rn(four[2], four[3])};
        *(uint2*)&C[8 * i * N] = *(uint2*)word;
    }
"""

GAPS = ["04.13"]
SOLVED = {"04.11": solved_function("holder")}
RIGHT_ANSWERS = {
    "04.11": [
        ("bits", [(_LANE, "(row & 7) << 2 | (k & 7) >> 1"), (_REGISTER, "row >> 3 | k >> 3 << 1")]),
        ("divmod", [("lane = " + _LANE, "across, inside = divmod(k, 8)\n    lane = row % 8 * 4 + inside // 2"),
                    (_REGISTER, "across * 2 + row // 8")]),
        ("a helper, and NumPy", [
            ("def holder", "import numpy as np\n\ndef within(i):\n    return int(np.remainder(i, 8))\n\ndef holder"),
            (_LANE, "within(row) * 4 + within(k) // 2")]),
        ("conditions", [(_REGISTER, "(row >= 8) + 2 * (k >= 8)"), (_HALF, "half = 1 if k & 1 else 0")]),
    ],
    "04.12": [
        ("exchanged where it is called", [
            (_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(second)"),
            (_B0, "pack(Bs[row + 1][column], Bs[row][column])"),
            (_B1, "pack(Bs[row + 9][column], Bs[row + 8][column])")]),
        ("CUDA's own", [
            ("return " + _PACK, "__half2 two = __halves2half2(first, second);\n    return *(unsigned*)&two")]),
        ("a sum", [(_PACK, "__half_as_ushort(first) + __half_as_ushort(second) * 65536u")]),
        ("the k of A exchanged as well", [
            (_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(second)"),
            ("int column", "for (int i = 0; i < 4; ++i) a[i] = a[i] << 16 | a[i] >> 16;\n        int column")]),
    ],
    "04.13": [
        ("the registers in another order", [
            (_AT, "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]"),
            (_FIRST, "d[0], a, b[0], b[2]"), (_SECOND, "d[1], a, b[1], b[3]")]),
        ("bits", [(_AT, "Bs[lane & 15][(lane & 16) >> 1]")]),
        ("the right half first", [(_AT, "Bs[lane % 16][8 - lane / 16 * 8]"),
                                  (_FIRST, "d[0], a, b[2], b[3]"), (_SECOND, "d[1], a, b[0], b[1]")]),
    ],
    "04.14": [
        ("through shared memory", [(_ROW, _PLAIN_ROW), (_STORE, _THROUGH_SHARED)]),
        ("by shuffles", [(_ROW, _PLAIN_ROW), (_STORE, _BY_SHUFFLE)]),
        ("the rows of B copied in that order", [
            (_ROW, _PLAIN_ROW),
            ("&Bs[lane / 2][lane", "&Bs[lane / 2 / 4 * 2 + lane / 2 % 2 + lane / 2 / 2 % 2 * 8][lane")]),
    ],
}  # fmt: skip
WRONG_ANSWERS = {
    "04.11": [
        ("the lane that names the row", [(_LANE, "row % 16 + k // 8 * 16")], "names the row for ldmatrix"),
        ("a row of 16 columns", [(_LANE, "row % 8 * 4 + k // 2")], "columns 8 to 15 are in other registers"),
        ("64 lanes", [(_LANE, "row * 4 + k % 8 // 2")], "only 32 lanes"),
        ("down the columns", [(_LANE, "k % 8 // 2 * 8 + row % 8")], "side by side in a row"),
        ("columns dealt out one by one", [(_LANE, "row % 8 * 4 + k % 4")], "two neighbouring columns"),
        ("the order of B", [(_REGISTER, "row // 8 * 2 + k // 8")], "below each other; those to the right are 2 and 3"),
        ("two registers", [(_REGISTER, "k // 8")], "four 8 x 8 matrices"),
        ("elements for registers", [(_REGISTER, "row // 8 * 2 + k // 8 * 4 + k % 2")], "a register holds two"),
        ("halves exchanged", [(_HALF, "half = 1 - k % 2")], "the smaller k is in the lower"),
        ("half of the tile", [(_HALF, "half = k // 8")], "two neighbours along k share a register"),
        ("only the lane", [(_REGISTER, "None")], "there is still a gap: register"),
        ("the simulator asked", [
            ("lane = " + _LANE, "from ptxsim import fragment\n    " + _LOOKED_UP.format('fragment("A")'))],
         "make lane, register and half of row and k"),
        ("the simulator asked in another function", [
            ("def holder", 'import ptxsim\n\ndef told():\n    return ptxsim.fragment("A")\n\ndef holder'),
            ("lane = " + _LANE, _LOOKED_UP.format("told()"))], "make lane, register and half of row and k"),
        ("what the simulator said, looked up", [
            ("def holder", 'from ptxsim import fragment\nTOLD = fragment("A")\n\ndef holder'),
            ("lane = " + _LANE, _LOOKED_UP.format("TOLD"))], "make lane, register and half of row and k"),
        ("another lane", [(_LANE, "(row + 1) % 8 * 4 + k % 8 // 2")], "lane l begins in row l / 4"),
    ],
    "04.12": [
        (
            "no block beyond the ninth",
            [("float d[4]", "if (blockIdx.x > 8) return; float d[4]")],
            "with fewer blocks it is right",
        ),
        (
            "sums by hand",
            [
                (
                    "mma_m16n8k16(d, a, b0, b1);",
                    "for (int i = 0; i < 4; ++i)\n            for (int q = 0; q < 16; ++q)\n                d[i] += "
                    "__half2float(As[lane / 4 + i / 2 * 8][q]) * __half2float(Bs[q][lane % 4 * 2 + i % 2]);",
                )
            ],
            "are made by mma_m16n8k16",
        ),
        ("as it was", [(_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(second)")],
         "two neighbours along k have changed places"),
        ("only the first register", [
            (_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(second)"),
            (_B0, "pack(Bs[row + 1][column], Bs[row][column])")], "mend them in one place"),
        ("registers exchanged too", [("d, a, b0, b1", "d, a, b1, b0")], "the two registers have changed places"),
        ("one half twice", [(_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(first)")], "the same element"),
        ("registers instead of halves", [
            (_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(second)"), ("d, a, b0, b1", "d, a, b1, b0")],
         "that was right"),
        ("mended in C", [
            (_PACK, "__half_as_ushort(first) << 16 | __half_as_ushort(second)"),
            ("d[0], d[1]", "d[1], d[0]"), ("d[2], d[3]", "d[3], d[2]")], "neighbours along n, not along k"),
        ("mended, and in C too", [("d[0], d[1]", "d[1], d[0]"), ("d[2], d[3]", "d[3], d[2]")],
         "the stores were right"),
        ("one half over the other", [(_PACK, "__half_as_ushort(second) | __half_as_ushort(first)")],
         "must not overlap"),
        ("half of the way", [(_PACK, "__half_as_ushort(second) << 8 | __half_as_ushort(first)")], "must not overlap"),
        ("the k further apart", [(_B0, "pack(Bs[row][column], Bs[row + 2][column])")], "l % 4 * 2 and the next one"),
        ("another column", [("column = lane / 4,", "column = lane % 8,")], "column l / 4 of B"),
        ("the wrong barrier removed", [("        __syncwarp();\n        unsigned", "        unsigned")],
         "the warp must meet"),
    ],
    "04.13": [
        (
            "packed by hand",
            [
                (
                    "ldmatrix_x4_trans(b, &Bs[lane % 16][lane / 16 * 8]);",
                    "for (int i = 0; i < 4; ++i) {\n            int k0 = i % 2 * 8 + lane % 4 * 2, n0 = i / 2 * 8 + "
                    "lane / 4;\n            __half2 two = __halves2half2(Bs[k0][n0], Bs[k0 + 1][n0]);\n"
                    "            b[i] = *(unsigned*)&two;\n        }",
                )
            ],
            "let ldmatrix bring and turn",
        ),
        ("as without trans", [(_AT, "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]")], "8 rows below"),
        ("registers exchanged", [(_FIRST, "d[0], a, b[1], b[0]")], "the first of the two registers is k = 0 to 7"),
        ("second registers exchanged", [(_SECOND, "d[1], a, b[3], b[2]")], "the first of the two registers is k = 0"),
        ("the second fragment first", [(_FIRST, "d[0], a, b[2], b[3]"), (_SECOND, "d[1], a, b[0], b[1]")],
         "the first mma makes columns 0 to 7"),
        ("all registers turned round", [(_FIRST, "d[0], a, b[3], b[2]"), (_SECOND, "d[1], a, b[1], b[0]")],
         "the matrix of k = 0 to 7 and columns 0 to 7"),
        ("one fragment twice", [(_SECOND, "d[1], a, b[0], b[1]")], "the matrices of columns 8 to 15"),
        ("registers two apart", [(_FIRST, "d[0], a, b[0], b[2]"), (_SECOND, "d[1], a, b[1], b[3]")], "8 rows below"),
        ("the address of a copy", [(_AT, "Bs[lane / 2][lane % 2 * 8]")], "l % 8 is in the row"),
        ("chunks for columns", [(_AT, "Bs[lane % 16][lane / 16]")], "a multiple of 8 columns"),
        ("another column", [(_AT, "Bs[lane % 16][lane / 8 % 2 * 8]")], "Where does it begin?"),
        ("32 rows", [(_AT, "Bs[lane][0]")], "leaves the 16 rows"),
        ("row and column exchanged", [(_AT, "Bs[lane / 16 * 8][lane % 16]")], "a multiple of 8 columns"),
    ],
    "04.14": [
        ("as it was", [(_ROW, _PLAIN_ROW), (_STORE, _PLAIN_STORE)], "into one row of C: they must be 32"),
        ("the rows of B alone", [(_STORE, _PLAIN_STORE)], "Both must agree"),
        ("the stores alone", [(_ROW, _PLAIN_ROW)], "Both must agree"),
        ("16 bytes in two lanes, 16 rows", [(_ROW, _PLAIN_ROW), (_STORE, _SHUFFLED)], "they must be 32"),
        ("no meeting of the lanes", [(_ROW, _PLAIN_ROW), (_STORE, _THROUGH_SHARED.replace("    __syncwarp();\n", ""))],
         "needs a __syncwarp()"),
        ("eight bytes from column 2 q", [("n + lane % 4 * 4;", "n + lane % 4 * 2;")], "multiple of 4 columns"),
        ("the upper rows only", [("i < 2; ++i) {\n        __half2", "i < 1; ++i) {\n        __half2")],
         "are not stored"),
        ("two rows of sums for one", [("d[1][2 * i], d[1][2 * i + 1]", "d[0][2 * i], d[0][2 * i + 1]")],
         "the sums of another row of B"),
        ("the product twice", [
            ("mma_m16n8k16(d[1], a, b[2], b[3]);", "mma_m16n8k16(d[1], a, b[2], b[3]);\n"
          "        float no[4] = {};\n        mma_m16n8k16(no, a, b[2], b[3]);")], "two mma"),
    ],
}  # fmt: skip
