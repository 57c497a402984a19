"""Lesson 04, deeper: addresses by hand."""

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "04_addresses"
DTYPE = "float16"
B = "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]"
GAPS = ["04.2", "04.3"]
WRONG_ANSWERS = wrong_answers(
    """
04.2
    A's order: the order of A
        $B -> Bs[lane % 16][lane / 16 * 8]
    eight rows only: first row and its first column
        $B -> Bs[lane % 8][lane / 8 % 2 * 8]
    the second fragment first: first row and its
        $B -> Bs[lane % 8 + (1 - lane / 16) * 8][lane / 8 % 2 * 8]
    halves of the fragment exchanged: first row and its
        $B -> Bs[lane % 8 + lane / 16 * 8][8 - lane / 8 % 2 * 8]
    chunks for columns: column is 0 or 8
        $B -> Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2]
    four rows of matrices: leaves the 16 x 16
        $B -> Bs[lane][0]
    the same row eight times: l % 8 is in the row
        $B -> Bs[lane / 16 * 8][lane / 8 % 2 * 8]
    the receiver's address: column is 0 or 8
        $B -> Bs[lane / 4][lane % 4 * 2]

04.3
    A read like B: matrices 0 and 1 of A
        16 * i + lane % 16 -> 16 * i + lane % 8 + lane / 16 * 8
        16 * step + lane / 16 * 8 -> 16 * step + lane / 8 % 2 * 8
    B read like A: leaves the tile
        Bs[lane % 8] -> Bs[lane % 16]
    both matrices of the first step: matrices 2 s and 2 s + 1
        b[2 * step] -> b[0]
        b[2 * step + 1] -> b[1]
    matrices two apart: k = 0 to 7 of the k-step
        b[2 * step + 1] -> b[step + 2]
        b[2 * step] -> b[step]
    one matrix too far: matrices 2 s and 2 s + 1
        b[2 * step + 1] -> b[(2 * step + 2) % 4]
    b exchanged: k = 0 to 7 of the k-step
        b[2 * step], b[2 * step + 1] -> b[2 * step + 1], b[2 * step]
    the same columns of A in both steps: a k-step is 16 columns
        16 * step + lane / 16 * 8 -> lane / 16 * 8
    the same rows of A twice: matrices 0 and 1 of A
        16 * i + lane % 16 -> lane % 16
    step in chunks: multiple of 8 halves
        16 * step + lane / 16 * 8 -> step + lane / 16 * 8
    an odd column of C: even column
        - + lane % 4 * 2;…
        + + lane % 4;…
    columns of C in another order: four lanes share a row of C
        - + lane % 4 * 2;…
        + + lane % 4 * 2 % 8 * 3 % 8;…
    eight lanes in a row of C: two lanes write one element of C
        - + lane / 4)…
        + + lane / 8)…
    a row of C for each lane: stores outside of C
        - + lane / 4)…
        + + lane)…
    row and column of C exchanged: even column
        - + lane / 4)…
        + + lane % 4 * 2)…
        - + lane % 4 * 2;…
        + + lane / 4;…
""",
    **globals(),
)
RIGHT_ANSWERS = right_answers(
    """
04.2
    bits
        $B -> Bs[lane & 7 | (lane & 16) >> 1][lane & 8]
    a condition
        $B -> Bs[lane % 8 + (lane < 16 ? 0 : 8)][lane / 8 % 2 ? 8 : 0]
    the rest of 16
        $B -> Bs[lane / 16 * 8 + lane % 16 % 8][lane % 16 / 8 * 8]

04.3
    bits
        Bs[lane % 8][lane / 8 * 8] -> Bs[lane & 7][lane & 24]
        16 * step + lane / 16 * 8 -> 16 * step | (lane & 16) >> 1
    row in parts
        16 * i + lane % 16 -> lane / 8 % 2 * 8 + i * 16 + lane % 8
    matrices in another order, in A and in B
        Bs[lane % 8][lane / 8 * 8] -> Bs[lane % 8][(lane / 8 ^ 1) * 8]
        16 * step + lane / 16 * 8 -> 16 * step + 8 - lane / 16 * 8
    a column of C with a mask
        - + lane % 4 * 2;…
        + + (lane & 3) * 2;…
        - + lane / 4)…
        + + (lane >> 2))…
""",
    **globals(),
)
