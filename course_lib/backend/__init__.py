"""What stands behind the rooms that a notebook uses: no notebook imports anything from here.

standin   `cp` where there is no GPU: the calls of CuPy, on NumPy and the simulator
gpu       what only a GPU can do: time launches, call cuBLAS, describe the machine
trace     a launch of a kernel that writes its own timeline, and the events in what it wrote
mistakes  where a product is wrong, and which common mistake makes it so
charts    the bars and the roofline of a benchmark
records   the files of measurements: how a kernel finds its own, and how one is written
"""
