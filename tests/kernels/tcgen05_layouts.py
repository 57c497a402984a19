"""How matrices lie in shared memory for tcgen05, by the PTX ISA's text and not by the simulator."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Layout:
    """Of A and B in shared memory: the distances and the swizzle that a descriptor tells, the bytes of a row that is
    swizzled (0: none), and whether K is the slower dimension."""

    leading: int
    stride: int
    swizzle: int = 0
    width: int = 0
    transposed: bool = False
    n: int = 64

    def place(self, row: int, k: int, rows: int) -> int:
        """Of a number the byte, by the PTX ISA's text."""
        if not self.width:
            return k // 8 * rows * 16 + row // 8 * 128 + row % 8 * 16 + k % 8 * 2
        if self.transposed:
            at = row // 64 * self.leading + k // 8 * self.stride + k % 8 * self.width + row % 64 * 2
        else:
            at = row // 8 * self.stride + row % 8 * self.width + 2 * k
        return at ^ (at >> 7 & self.width // 16 - 1) << 4

    def bytes_of(self, matrix: np.ndarray, size: int) -> np.ndarray:
        """So many bytes with the matrix in them, and other numbers where it is not."""
        found = np.random.default_rng(2).integers(1, 9, size // 2).astype(np.float16)
        for (row, k), number in np.ndenumerate(matrix):
            found[self.place(row, k, len(matrix)) // 2] = number
        return found

    def descriptor(self, name: str, rows: int) -> str:
        leading = self.leading or rows * 16
        more = leading >> 4 << 16 | self.stride >> 4 << 32 | 1 << 46 | self.swizzle << 61
        return f"((u64)((AT({name}) & 0x3FFFF) >> 4) | {more}ull)"


LAYOUTS = {
    "not swizzled": Layout(0, 128),
    "rows of 128 bytes": Layout(16, 1024, 2, 128),
    "rows of 64 bytes": Layout(16, 512, 4, 64),
    "M and N faster than K": Layout(2048, 1024, 2, 128, transposed=True, n=128),
}
