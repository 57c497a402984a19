"""Lesson 04, deeper: padding."""

from tests.lessons.tables import variants

NOTEBOOK = "04_padding"
DTYPE = "float16"
WRONG = {
    "plain_tile": variants("""
chunks of 4: misaligned|wrong|uninitialised
    chunk * 8; } -> chunk * 4; }
rows of half the length: wrong|uninitialised|write-after-write
    return row * TK -> return row * TK / 2
one turn only: uninitialised
    i < ROWS; i += TURN -> i < TURN; i += TURN
all turns of the same rows: made with row
    - + chunk * 8 + i * stride…
    + + chunk * 8…
a row of A for each column: look at A
    lane % 16, 2 * step -> lane / 2, 2 * step
B as if it was A: look at B
    lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2 -> lane % 16, 2 * step + lane / 16
halves in the place of bytes: look at A
    a_row, i * 16 * TK * 2 -> a_row, i * 16 * TK
one fragment of B twice: look at B
    b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1] -> b[j / 2][0], b[j / 2][1]
no wait: unwaited-copy
    wait_all(); ->
upper half of C twice: wrong
    [i % 8][i / 8 % 2 * 2] -> [i % 8][0]
"""),
}
