"""What goes deeper from lesson 05: what more there is about slots."""

NOTEBOOK = "05_slots"
OTHERS: dict = {}
DTYPE = "float16"
WRONG: dict = {}
GAPS: list = []
SOLVED: dict = {}
WRONG_ANSWERS: dict = {}
RIGHT_ANSWERS: dict = {}
