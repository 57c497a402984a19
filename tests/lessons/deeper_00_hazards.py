"""deeper/00_hazards: a page to look things up, with no kernel of its own."""

NOTEBOOK = "00_hazards"
WRONG: dict = {}
OTHERS: dict = {}
GAPS: list = []
RIGHT_ANSWERS: dict = {}
WRONG_ANSWERS: dict = {}
SOLVED: dict = {}
