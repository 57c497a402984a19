"""The figures of single lessons: lesson_NN.py has those of lesson NN, one function each."""
