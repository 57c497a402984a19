"""deeper/00_model: a kernel of lesson 01 beside its model."""

NOTEBOOK = "00_model"
WRONG: dict = {}
OTHERS: dict = {}
GAPS: list = []
RIGHT_ANSWERS: dict = {}
WRONG_ANSWERS: dict = {}
SOLVED: dict = {}
