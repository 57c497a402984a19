"""The way in and out: what a caller gives, and what comes back.

kernel     a kernel from CUDA C++ or PTX, its parameters and resources
arguments  what is given for them, checked and bound
launch     a kernel over a grid: what is checked before, and the run
occupancy  how many of its blocks an SM holds
report     what was found, as text and as HTML
"""
