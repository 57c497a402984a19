"""Notebooks that keep all rules of the second edition."""

from course_lib.lessons import sources

WAY = (
    "00_start_here",
    "01_mainloop",
    "02_producer_consumer",
    "03_double_buffer",
    "04_tensor_cores",
    "05_three_stage",
    "06_complete_gemm",
    "07_hopper",
    "08_never_a_pause",
)
"""Lessons: a list that grows with each that was rewritten."""
DEEPER = tuple(f"deeper/{path.stem}" for path in sources.deeper_notebooks(sources.NOTEBOOKS))
"""What goes deeper, by folder and name: all of it."""
HELD = WAY + DEEPER
