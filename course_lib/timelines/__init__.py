"""When one block's warps do what: recorded on a GPU, or by the simulator's clock.

timeline, events, timeline_chart              warps over time, as numbers and as a picture
marks, assembled, first_statement, stalls     measured: two marks a launch, put together; ncu's samples
watched                                       a kernel whose blocks note when they run
modelled, regions                             by the simulator's clock, in the phases that the source marks
"""
