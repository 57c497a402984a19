"""What goes deeper in lesson 02: math that stays behind the copy."""

NOTEBOOK = "02_late_math"
OTHERS, WRONG, WRONG_ANSWERS, SOLVED = {}, {}, {}, {}
GAPS = []
