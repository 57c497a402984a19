"""Notebooks that keep all rules of the second edition: a list that grows with each that was rewritten."""

WAY: tuple[str, ...] = ("04_tensor_cores",)
"""Lessons: "02_producer_consumer"."""
DEEPER: tuple[str, ...] = (
    "deeper/04_addresses",
    "deeper/04_cute",
    "deeper/04_padding",
    "deeper/04_sums",
)
"""What goes deeper, by folder and name: "deeper/02_late_math"."""
HELD = WAY + DEEPER
