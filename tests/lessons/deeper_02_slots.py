"""What goes deeper in lesson 02: how many slots, how many producers."""

NOTEBOOK = "02_slots"
OTHERS, WRONG, WRONG_ANSWERS, SOLVED = {}, {}, {}, {}
GAPS = []
