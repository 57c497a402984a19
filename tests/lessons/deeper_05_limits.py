"""What goes deeper from lesson 05: what is full, and the clock."""

NOTEBOOK = "05_limits"
OTHERS: dict = {}
DTYPE = "float16"
WRONG: dict = {}
GAPS: list = []
SOLVED: dict = {}
WRONG_ANSWERS: dict = {}
RIGHT_ANSWERS: dict = {}
