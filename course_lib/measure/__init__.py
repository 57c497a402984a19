"""How fast kernels are, and why.

bench, results, rows, charts, roofline_chart  speeds of kernels on one problem, as a table and as pictures
tables                                        a table as text and as HTML
ncu                                           Nsight Compute's counters of a launch
samples, places                               its samples, by line of the source, whatever its comments
model                                         a launch as the simulator's clocks see it
records                                       measurements on file: how a kernel finds its own
runs                                          which of them are of one run, and its cuBLAS
"""
