"""Notebooks that keep all rules of the second edition: a list that grows with each that was rewritten."""

WAY: tuple[str, ...] = ()
"""Lessons: "02_producer_consumer"."""
DEEPER: tuple[str, ...] = ()
"""What goes deeper, by folder and name: "deeper/02_late_math"."""
HELD = WAY + DEEPER
