"""What stands behind the rooms that a notebook uses: no notebook imports anything from here, and nothing here knows
what a lesson or an exercise is.

standin          `cp` where there is no GPU: the calls of CuPy, on NumPy and the simulator
gpu, power       what only a GPU can do: time launches in bursts and over seconds, call cuBLAS, describe the machine
ncu              Nsight Compute's counters of a launch
model            a launch as the simulator's clock sees it
trace            a launch of a kernel that writes its own timeline, and the events in what it wrote
disassembly      machine code as a list of instructions
mistakes         where a product is wrong, and which common mistake makes it so
meetings         which k of A meets which k of B
records          the files of measurements: how a kernel finds its own, and how one is written
charts           the pictures: of a benchmark; timeline_chart, fragment_charts, and cells, which those are made of
"""
