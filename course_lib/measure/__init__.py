"""How fast kernels are, when their warps do what, and why.

bench, results, rows, charts, roofline_chart  speeds of kernels on one problem, as a table and as pictures
tables                                        a table as text and as HTML
timeline, events, timeline_chart              one block's warps over time, recorded or modelled
marks, assembled, first_statement, stalls     a timeline measured: two marks a launch, put together; ncu's samples
watched                                       a kernel whose blocks note when they run
ncu                                           Nsight Compute's counters of a launch
samples, by_line                              its samples, by machine instruction and by line of the source
modelled, regions                             a timeline by the simulator's clock, in the phases that the source marks
model                                         a launch as the simulator's clocks see it
records                                       measurements on file: how a kernel finds its own
runs                                          which of them are of one run, and its cuBLAS
"""
