"""What is noted of each access while a kernel runs.

counters  instructions, wavefronts and sectors, per source line
recorder  the coarse events of one block, for the clock
"""
