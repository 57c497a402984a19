"""Exercises.

verdicts     an answer is judged: passed, or not yet, with one hint
answers      what each exercise tests
hints        what is said of an answer that is not right: a hint, later a smaller step
predictions  what a learner predicted, beside what came out
logbook      what a learner has tried, solved, predicted and opened
"""
