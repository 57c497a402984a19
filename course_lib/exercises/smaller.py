"""A smaller step for each exercise on the way: offered when the third answer was not right."""

from collections.abc import Sequence

STEPS = {
    "00.1": "Let x and y be 32 and 8 long, and one block run. On paper: which row and which column should thread "
    "0, 31, 32 and 255 take? Then write the two lines for m and n alone, and C[...] last.",
    "00.2": "First make it right for one block: a loop that begins at threadIdx.x and goes on by blockDim.x. Then "
    "ask what both numbers become when there are several blocks.",
    "00.3": "Take one thread, 32. Write down the line in which the number that it reads is written, and by whom. "
    "Between these two lines something must make all threads wait.",
    "01.1": "Let only thread t copy float t, 256 of the 1024, and say where it goes in As. When that is right, "
    "repeat it for t + 256, t + 512, t + 768.",
    "01.2": "Write the copy of A alone first: it is 01.1's. Leave the math for later, and look whether the "
    "verdict now speaks of B. Then the copy of B, then the math for one row and one column of a thread.",
    "01.3": "Write for two warps, one below the other, the order of: multiply 0, copy 1, barrier, multiply 1. "
    "Move the second one's `multiply 0` to the right as far as the barrier lets you.",
    "02.1": "Copy one piece only, and write it out: copy, wait, barrier, write out. When that is right, ask what "
    "must be over before the second piece may be copied into the same place.",
    "02.2": "Write the loop without anything ahead first: load, store, barrier, multiply, barrier. Then move only "
    "the two loads up, to before the multiplication of the k-tile before.",
    "02.3": "Only FULL first, with as many slots as there are k-tiles: who says that a slot is full, who waits "
    "for it? Then count: from which turn on does the producer meet a slot that was used before?",
    "03.1": "Write turn 0 from the picture, all three numbers. Turn 1 differs in one thing: everything has moved "
    "on by one k-tile. Which buffer has k-tile 2?",
    "03.2": "Write the loop with one buffer first: issue, wait, barrier, math, barrier. Then let the issue of the "
    "next k-tile move up across the math, into the other buffer, and see which barrier is left over.",
    "03.3": "Write down for the first, the second and the last k-block of a k-tile: which k-block is loaded "
    "meanwhile, and out of which buffer? The wait and the barrier belong to the one k-block in which the "
    "buffer changes.",
    "03.4": "Make a table with four columns, turn, read, write, and what each buffer holds. Fill it for the "
    "prologue and turn 0. Which entry is not what the multiplication needs?",
    "04.1": "Only matrix 0 first: lanes 0 to 7 name rows 0 to 7, column 0. Then ask for lane 8 alone: its matrix "
    "comes to a[1]; where do its rows begin?",
    "04.4": "Write the group (6 * r + s) % 8 of chunk 0 for rows 0 to 7 with s = 0. Now change s to 1 in four of "
    "these rows only, so that all eight groups differ. Which four? Then the same for the other chunks, and "
    "for rows 8 to 15.",
    "04.5": "Let one turn be right first: K equal to TK, so that there is no second k-tile. Then ask what the "
    "loop must change for the next one, and which barrier keeps it from overwriting what is still read.",
    "05.1": "Fill in the prologue alone, and say how many groups are closed when turn 0 waits. One of them must "
    "have landed; the others may be late.",
    "05.2": "Write it for two slots, where you can draw every turn: then `STAGES - 1` is one. When that is right, "
    "put STAGES where a 1 or a 2 stands, and ask of each whether it is a number of slots or of k-tiles "
    "ahead.",
    "05.3": "First with nothing ahead: wait, barrier, load 0, multiply 0, load 1, multiply 1, issue. Then move "
    "each load up across one multiplication. The load of the next k-tile takes its wait and its barrier "
    "along.",
    "05.4": "With numbers: a tile of (256, 128, 32) has 2 x 256 x 128 x 32 FLOP. Divide by 2730, and put the "
    "result beside a latency of 1500. Then write the same with names.",
    "06.1": "Only K first, at 128 x 128 x 104: round the number of k-tiles up, and let each copy read 0 of its 16 "
    "bytes where its k is not below K. When the check says *right for any K*, think of rows.",
    "06.2": "Let at_once be 1 and the tile 128 x 256. On paper: 3000 x 3000, how many tiles down, how many across, how "
    "often do 132 fit into their number?",
    "06.3": "Forget the tiles first: a row of 40 k-tiles, four blocks, where does each begin? Then 41 k-tiles. Only "
    "then mark where tiles end, every 8 k-tiles.",
    "06.4": "Write `return __half(sum + float(bias));` first: the verdict then says that GELU is missing. Then "
    "multiply by the share, in floats.",
    "07.1": "Copy the piece of `x` alone, and let `ys` be filled by the threads: one expect, one copy, one wait. When "
    "that is right, say how many bytes the phase must expect when a second copy joins it.",
    "07.2": "Leave the step of the descriptors for later. Say aloud what each of the four lines behind the fence does, "
    "and put the three that are not `wgmma` into the order: done, closed, waited for.",
    "07.3": "Write it for as many slots as there are k-tiles: then nobody waits for `empty`, and every parity is 0. "
    "When that is right, ask what the second use of a slot must wait for, on each side.",
    "08.1": "Put the loop over tiles around the loop over k-tiles of 07.3's solution, in both roles, and store at its "
    "end. Try one tile; then two, and look which of `k_tile` and `count` names the slot.",
    "08.2": "Follow one slot of one block through two tiles: who fills it, who reads it, who says so, and to whom? "
    "Write the phase of `full` and of `empty` beside each.",
    "08.3": "Write one box only, and let the kernel end behind it: stmatrix, fence, barrier, store, commit, wait. The "
    "loop over four boxes then asks one question more: may the box be written again?",
    "09.1": "Begin with 256 columns, where every thread has two: one barrier is missing. Then 200, and ask of each "
    "line in the loop whether a thread without a column must come to it, and whether it may read and write there.",
    "09.2": "Draw a row for each stream, and under each C, K and R which of the four places it reads or writes. Look "
    "at one place at a time: who comes second, and what makes him wait?",
    "09.3": "Only `ptxsim run src/softmax.cu -- 8` first. Then one option after the other; `ptxsim run --help` has "
    "them.",
}
INSTEAD = {
    "06.1": {
        "any-m": "Only M now, at 129 x 128 x 64. The copy of A: 0 bytes where a row is not below M, as behind K. Then "
        "the store: write down, for one lane, the row of C in which sum[0][0][0] stands, and the one of sum[0][0][2]; "
        "which rows does C have?",
        "any-n": "Only N now, at 128 x 136 x 64. B has rows as A has: what does its copy ask? Then the store: write "
        "down, for one lane, the columns in which sum[0][0][0] and sum[0][0][1] stand; which columns does C have?",
        "all-three": "Take 3 x 5 x 8: one chunk of three rows of A and of five rows of B. Say for each guard what it "
        "compares, and with which of M, N and K.",
        "zeros-in-one": "Only K, at 128 x 128 x 40: which chunks of the second k-tile does A have, and which does B "
        "have? Both copies ask the same of k.",
        "no-mma|more-mma|nothing-ahead|copied-again": "Every size is right: the guards are done. Put your loop beside "
        "the one that was given, line by line: what else is different?",
    },
}
"""For some findings another step, because the first one is done. Keys are words, as those of a hint."""
OFFERED_AT = 3
"""So many answers in a row that were not right."""


def step(name: str, words: Sequence[str]) -> str | None:
    """The smaller step for what was found, in words, the most telling first."""
    of_word = {word: text for key, text in INSTEAD.get(name, {}).items() for word in key.split("|")}
    return next((of_word[word] for word in words if word in of_word), STEPS.get(name))
