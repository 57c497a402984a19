"""What stands behind the rooms that a notebook uses. Of these a notebook itself imports `gpu` and `ncu`, no other.

standin             `cp` where there is no GPU: the calls of CuPy, on NumPy and the simulator
gpu, power          what only a GPU can do: time launches in bursts and over seconds, call cuBLAS, describe the machine
ncu                 Nsight Compute's counters of a launch
tensor_maps         tensor maps, which only a GPU's driver can make
model               a launch as the simulator's clock sees it
trace               a launch of a kernel that writes its own timeline, and the events in what it wrote
disassembly         machine code as a list of instructions
evidence            what the checklist looks at
mistakes            where a product is wrong, and which common mistake makes it so
meetings            which k of A meets which k of B
operands            what `matmul` is given, and what is refused
plans, hopper_plans which tile `matmul` takes with lesson 06's and lesson 07's kernel
tuner, sweep_file   the same, found by a sweep on a GPU, and the sweep on file
records             the files of measurements: how a kernel finds its own, and how one is written
places              where notebooks and assets lie: beside the package, or inside an installed one
colab               what a notebook's first cell does on Colab
charts              the pictures of a benchmark; others in cells, fragment_charts, heat, roofline_chart, span_chart,
                    timeline_chart, explore_chart
"""
