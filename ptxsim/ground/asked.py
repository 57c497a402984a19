"""What a kernel asks of whoever runs it."""

from typing import NamedTuple


class Asked(NamedTuple):
    """A launch that a kernel asked for: of which kernel, how, and where its parameters lie."""

    function: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    parameters: int
    stream: int = 0
