"""Exercises.

verdicts  an answer is judged: passed, or not yet, with one hint
answers   what each exercise tests, and its hints, which stand with the notebooks
ids       under which name each of them is kept, whatever its number
smaller   a smaller step, when the third answer is not right either
logbook   what a learner has solved and predicted
"""
