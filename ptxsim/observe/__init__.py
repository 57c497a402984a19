"""What is noted of each access while a kernel runs.

counters  instructions, wavefronts and sectors, per source line
events    what a warp does, as far as a replay needs to know: a class for each kind
rounds    barriers that one warp may come to twice in a round
recorder  notes the events of one block
"""
