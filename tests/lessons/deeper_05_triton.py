"""What goes deeper from lesson 05: the ring that Triton writes."""

from tests.lessons import solved_function

NOTEBOOK = "05_triton"
SOLVED = {"05.6": solved_function("shared_bytes"), "05.7": solved_function("most_groups")}
SLOTS, BYTES, COUNT = "max(1, stages - 1)", "(BM + BN) * BK * 2", "2 * (stages - 2)"
RIGHT_ANSWERS = {
    "05.6": [
        ("by a test", [(SLOTS, "(1 if stages == 1 else stages - 1)")]),
        ("A and B apart", [(BYTES, "(BM * BK * 2 + BK * BN * 2)")]),
    ],
    "05.7": [
        ("by slots", [(COUNT, "(stages - 1) * 2 - 2")]),
        ("as a float", [(COUNT, "2.0 * (stages - 2)")]),
    ],
}
WRONG_ANSWERS = {
    "05.6": [
        ("a slot a stage", [(SLOTS, "stages")], "Which stage needs no slot"),
        ("none for 1", [(SLOTS, "(stages - 1)")], "still come out of shared memory"),
        ("elements", [(" * 2", "")], "float16 has 2 bytes"),
        ("elements, a slot a stage", [(SLOTS, "stages"), (" * 2", "")], "float16 has 2 bytes"),
        ("float32", [(" * 2", " * 4")], "what is copied is float16"),
        ("A alone", [("(BM + BN)", "BM")], "one of B"),
        ("C", [("(BM + BN) * BK", "BM * BN")], "sums lie in registers"),
        ("always one", [(SLOTS, "1")], "each needs a place"),
        ("two more", [(SLOTS, "(stages + 2)")], "their difference is one slot"),
        ("kilobytes", [(" * 2", " * 2 / 1024")], "as a launch takes them"),
        ("for four stages alone", [(SLOTS, "3")], "Triton has"),
    ],
    "05.7": [
        ("k-tiles", [(COUNT, "stages - 2")], "how many belong to one k-tile"),
        ("a slot a stage", [(COUNT, "2 * (stages - 1)")], "has three slots"),
        ("one more", [(COUNT, "2 * (stages - 2) + 1")], "that of B"),
        ("all", [(COUNT, "0")], "no copy is on its way during the math"),
        ("one fewer", [(COUNT, "max(0, 2 * (stages - 2) - 1)")], "must both parts have arrived"),
        ("for four stages alone", [(COUNT, "4")], "must both parts have arrived"),
    ],
}
