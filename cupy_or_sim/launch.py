"""How a GEMM kernel is launched: one object, which lives with its kernel and goes to everything that runs it."""

from dataclasses import dataclass, fields, replace
from typing import Any

Tile = tuple[int, int, int]
Threads = int | tuple[int, ...]

FEW_BLOCKS = 2
"""Of a persistent kernel on a small problem, or one cluster: each takes several tiles."""


@dataclass(frozen=True, repr=False)
class Launch:
    """`tile`: M, N and K of a block (of a cluster, where the kernel has them). `threads` of a block: a number, or one
    for each dimension. `shared_mem`: bytes of dynamic shared memory. `blocks` of a persistent kernel, which share the
    tiles out; None: one block a tile."""

    tile: Tile = (64, 64, 16)
    threads: Threads = 256
    shared_mem: int = 0
    blocks: int | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.tile, tuple) and len(self.tile) == 3):
            raise TypeError(
                f"tile is {self.tile!r}; it is three whole numbers (M, N, K), for example (64, 64, 16)"
            )

    def __repr__(self) -> str:
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = (f"{name}={value}" for name, value in said.items() if value or name in ("tile", "threads"))
        return f"Launch({', '.join(shown)})"

    @property
    def block(self) -> tuple[int, ...]:
        """Threads of a block in each dimension."""
        return self.threads if isinstance(self.threads, tuple) else (self.threads,)

    def but(self, **changes: Any) -> "Launch":
        """The same launch, but for these."""
        return replace(self, **changes)

    def small(self) -> "Launch":
        """For a small problem."""
        return self.but(blocks=self.blocks and min(self.blocks, FEW_BLOCKS))

    def record(self) -> dict[str, object]:
        """As a file of measurements holds it."""
        blocks = {"blocks": self.blocks} if self.blocks else {}
        return {"tile": list(self.tile), "threads": self.threads, "shared_mem": self.shared_mem, **blocks}


STANDARD = Launch()
"""Where none is given."""
