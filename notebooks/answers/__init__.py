"""What the exercises test: lesson_NN.py those of a lesson, bank_NN.py more of them. hints_NN.toml has their hints."""
