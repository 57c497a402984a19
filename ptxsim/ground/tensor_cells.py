"""Tensor memory in numbers and words (PTX ISA, "Tensor Memory")."""

LANES, COLUMNS = 128, 512
CELLS = LANES * COLUMNS
"""Of 4 bytes, of a block."""


class TensorCells:
    """The tensor memory of the resident blocks: cells block after block, lane after lane, column after column."""

    def element(self, offset: int) -> str:
        """The place of a byte in words."""
        lane, column = divmod(offset // 4 % CELLS, COLUMNS)
        return f"lane {lane}, column {column} of tensor memory"
