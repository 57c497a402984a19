"""What goes deeper from lesson 05: its fastest kernel."""

from tests.lessons.tables import variants

NOTEBOOK = "05_fastest"
DTYPE = "float16"
WRONG = {
    "fastest": variants("""
moves on by one k-tile for each turn of several: wrong
    from[i] += STAGES * TK; -> from[i] += TK;
the same slot again: wrong
    next = (slot + 1) % STAGES * SLOT * 2; -> next = slot * SLOT * 2;
copies into the slot that is read: write-after-read|unwaited|wrong
    slots + ahead % STAGES -> slots + (ahead + 1) % STAGES
one k-tile too far: wrong|out-of-bounds
    from[i] + ahead * TK -> from[i] + (ahead + 1) * TK
copies behind the end: out-of-bounds|write-after|wrong
    other, turn + other < k_tiles) -> other, true)
fragments of B too early: wrong
    if (t % 8 == 7) -> if (t % 8 == 3)
sets of A mixed up: wrong
    a[step % 2][i], -> a[ahead % 2][i],
"""),
}
