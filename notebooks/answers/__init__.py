"""What the exercises test, and the hint for each finding: lesson_NN.py those of a lesson, bank_NN.py more of them."""
