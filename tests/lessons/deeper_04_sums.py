"""Lesson 04, deeper: sums and results; no kernel of its own."""

NOTEBOOK = "04_sums"
OTHERS: dict = {}
WRONG: dict = {}
GAPS: list = []
WRONG_ANSWERS: dict = {}
RIGHT_ANSWERS: dict = {}
SOLVED: dict = {}
