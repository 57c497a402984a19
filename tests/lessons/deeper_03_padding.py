"""Deeper, lesson 03: padding."""

from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "03_padding"

RIGHT_ANSWERS = right_answers(
    """
03.5
    two copies of 4 bytes
        int i = x; i < TM; i += 32 -> int i = 2 * x; i < TM; i += 64
        - copy_async<4>(&As[buffer][y][i], &A[i + (k_tile * TK + y) * M]);…
        + for (int e = i; e < i + 2; ++e) copy_async<4>(&As[buffer][y][e], &A[e + (k_tile * TK + y) * M]);…
        - copy_async<4>(&Bs[buffer][y][i], &B[i + (k_tile * TK + y) * N]);…
        + for (int e = i; e < i + 2; ++e) copy_async<4>(&Bs[buffer][y][e], &B[e + (k_tile * TK + y) * N]);…
    four turns
        for (int i = x; i < TM; i += 32) { -> for (int turn = 0; turn < 4; ++turn) { int i = x + 32 * turn;
    all threads, column by column
        - for (int i = x; i < TM; i += 32) {…
        + for (int t = threadIdx.x; t < TM * TK; t += 256) { int i = t % TM, y = t / TM;…
""",
    **globals(),
)

WRONG_ANSWERS = wrong_answers(
    """
03.5
    plain copies: let the copy be asynchronous
        - copy_async<4>(&As[buffer][y][i], &A[i + (k_tile * TK + y) * M])…
        + As[buffer][y][i] = A[i + (k_tile * TK + y) * M]…
        - copy_async<4>(&Bs[buffer][y][i], &B[i + (k_tile * TK + y) * N])…
        + Bs[buffer][y][i] = B[i + (k_tile * TK + y) * N]…
    padding of 2 again: keep PAD = 1
        PAD = 1 -> PAD = 2
    only A repaired: How many bytes
        copy_async<4>(&Bs -> copy_async<8>(&Bs
    only B repaired: How many bytes
        copy_async<4>(&As -> copy_async<8>(&As
    half of the floats: how far apart
        int i = x; i < TM; i += 32 -> int i = x; i < TM; i += 64
    every other float: how far apart
        int i = x; i < TM; i += 32 -> int i = 2 * x; i < TM; i += 64
    one place twice: Lane x starts
        int i = x; i < TM; i += 32 -> int i = 2 * x; i < TM; i += 32
""",
    **globals(),
)
