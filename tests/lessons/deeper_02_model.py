"""What goes deeper in lesson 02: the model and the clock."""

NOTEBOOK = "02_model"
OTHERS, WRONG, WRONG_ANSWERS, SOLVED = {}, {}, {}, {}
GAPS = []
