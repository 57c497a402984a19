"""How fast kernels are, when their warps do what, and why.

bench, results, rows, charts, roofline_chart  speeds of kernels on one problem, as a table and as pictures
tables                                        a table as text and as HTML
timed                                         calls compared, such as `matmul` with cuBLAS
timeline, events, timeline_chart              one block's warps over time, recorded or modelled
marks, assembled, first_statement, stalls     a timeline measured: two marks a launch, put together; ncu's samples
watched                                       a kernel whose blocks note when they run
modelled                                      a timeline by the simulator's clock
pauses, tensor_share                          where a timeline has no math; the tensor cores' share of all cycles
waves, spans, span_chart                      which SM works on what
profile, ncu, full_unit                       what Nsight Compute counts, and which unit is full
sass, order, loads_ahead                      machine code beside its source, and in which order it stands
k_block                                       what a warp does for one k-block, counted
checklist, evidence                           twelve properties of a good kernel, ticked
tensor_share, pauses                          when the tensor cores work, and where they rest
model                                         a launch as the simulator's clock sees it
records                                       measurements on file: how a kernel finds its own
"""
