"""Lesson 04, deeper: CuTe's words; no kernel of its own."""

NOTEBOOK = "04_cute"
OTHERS: dict = {}
WRONG: dict = {}
GAPS: list = []
WRONG_ANSWERS: dict = {}
RIGHT_ANSWERS: dict = {}
SOLVED: dict = {}
