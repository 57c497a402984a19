"""A single instruction seen as a `Case`, so that it is run and recorded like the kernels."""

from tests.kernels.case import Case, poison
from tests.kernels.instruction_cases import InstructionCase


def from_instruction(case: InstructionCase) -> Case:
    """kernel(out, *inputs) with one thread per row of operands."""
    count = len(case.inputs[0])

    def make() -> list:
        return [poison(count, case.output_dtype), *(array.copy() for array in case.inputs)]

    return Case(
        f"instruction.{case.name}", case.source, case.kernel, make, (1,), (count,), lambda args: {},
        exact=case.exact, rtol=case.tolerance, atol=case.tolerance, without_reference=(0,),
        own_source=case.own_source,
    )  # fmt: skip
