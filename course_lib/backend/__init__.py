"""What stands behind the rooms that a notebook uses: no notebook imports anything from here.

standin   `cp` where there is no GPU: the calls of CuPy, on NumPy and the simulator
gpu       `cp` where there is one: everything that asks CuPy about the machine, or times a launch
records   the files of measurements: how a kernel finds its own, and how one is written
"""
