"""Lesson 01, deeper: banks."""

NOTEBOOK = "01_banks"
OTHERS: dict = {}
WRONG: dict = {}
GAPS: list = []
RIGHT_ANSWERS: dict = {}
WRONG_ANSWERS: dict = {}
SOLVED: dict = {}
