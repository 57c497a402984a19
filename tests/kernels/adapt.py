"""A single-instruction case seen as a `Case`, so that it is recorded like the kernels."""

from __future__ import annotations

from .case import CPP17, Case, poison


def from_instruction(case) -> Case:
    """kernel(out, *inputs), one thread per element; there is no reference here, only a frozen result."""
    count = len(case.inputs[0])

    return Case(
        f"instruction.{case.name}", case.source, case.kernel,
        lambda: [poison(count, case.output_dtype), *(array.copy() for array in case.inputs)],
        (1,), (count,), lambda args: {}, getattr(case, "options", CPP17), exact=case.exact,
    )  # fmt: skip
