"""Blocks, warps and lanes that run a program.

decode    instructions to steps: which registers a step reads and writes, basic blocks
runs      FMAs in a row, or mma, as one step
unset     the steps that may read registers which nobody has set
launched  what a launch is, for all batches of its blocks
machine   a batch of blocks that runs
specials  special registers, for all lanes
settled   rounds of a loop that are all alike: of many the last one is enough
standstill  threads that go round and round, and nobody who could end it
stuck     who waits for what when nobody can go on, in words
"""
