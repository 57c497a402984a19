"""Lesson 01, deeper: what the counts say."""

NOTEBOOK = "01_counts"
OTHERS: dict = {}
WRONG: dict = {}
GAPS: list = []
RIGHT_ANSWERS: dict = {}
WRONG_ANSWERS: dict = {}
SOLVED: dict = {}
