"""Exercise 09.3: a whole program, which is built and run as `ptxsim run` does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ptxsim import CompileError
from ptxsim.compiler import ToolMissing
from ptxsim.ground.interrupts import MessageOnly

from ..figures.programs import ProgramRun, run_program
from .common import demand, fail

KERNEL = """__global__ void square(const float* x, float* y)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < COUNT)
        y[i] = x[i] * x[i];
}"""
WRONG = "__device__ int times;\n" + KERNEL.replace("x[i];", "x[i] + (i == COUNT - 1 && times++ == 1);")
"""Errs once, in the last number of matrix 1: a check that looks at all numbers finds it."""
NAME = "squares.cu"
MATRICES = 3, 19
"""The program's own number, and one of which the text does not speak."""
NOTICED_OF = 2, 3
"""Numbers of matrices with which the wrong kernel is tried: its mistake is the last number of all, or stands before."""
MEMORY = 2 * 2 * 3000 * 4
"""Bytes of the device: two places for x and for y."""
WHY_ALONE = "copy-waits", "host-waits", "one-stream", "kernel-waits", "no-copy"
"""What keeps the next copy from running beside a launch, as a run tells it."""
PINNED = re.compile(r"cuda(MallocHost|HostAlloc|HostRegister)\b")
COPIED_OUT = re.compile(r"cudaMemcpyAsync\s*\(\s*&?(\w+)[^;]*cudaMemcpyDeviceToHost")
COPIED_IN = re.compile(r"cudaMemcpyAsync\s*\([^,;]*,\s*&?(\w+)[^;]*cudaMemcpyHostToDevice\s*,\s*(\w+)\s*\)")
LAUNCHED_IN = re.compile(r"<<<[^;]*,\s*(\w+)\s*>>>")
WAITS = re.compile(r"cudaStreamWaitEvent\s*\(\s*(\w+)\s*,\s*(\w+)")
RECORDS = re.compile(r"cudaEventRecord\s*\(\s*(\w+)[^;,]*,\s*(\w+)\s*\)")


def ran(text: str, name: str, *args: str, at_once: bool = False) -> ProgramRun:
    """Raises CompileError where it does not compile, and NotRunHere where nothing compiles."""
    try:
        return run_program(text, name, args=args, at_once=at_once)
    except Exception as said:
        if isinstance(said, ToolMissing) or not isinstance(said, MessageOnly):
            raise
        raise CompileError(str(said)) from None  # a BuildError, whose room does not load everywhere


def demand_text(answer: Any, kernel: str) -> None:
    """A program's text, in which the kernel is as it was."""
    demand(
        isinstance(answer, str), f"the answer is the program's text, and not {answer!r:.60}.", "wrong-form"
    )
    demand(kernel in answer, "the kernel is right as it was, and here it is another one.", "other-kernel")


def demand_right(
    answer: str, run: ProgramRun, when: str, name: str, *args: str, why: Sequence[str] = ()
) -> None:
    """Raise the first finding of this run of the answer, and that it does not say PASS. `why`: causes that the text
    tells of the finding."""
    if run.kinds:
        fail(f"{when} {run.kinds[0]} at line {run.lines[0]}: {_in_short(run)}.", *why, *_causes(run))
    words, summary = run.printed.split(), run.report.splitlines()[-1]
    said = f"prints {' '.join(words)[-60:]!r}" if words else "prints nothing"
    right = "PASS" in words and "FAIL" not in words and run.report.endswith("no hazard found")
    text = f"{when} the program {said}: its host looks before anything has made it wait."
    too_soon = "PASS" not in words and _passes_at_once(answer, name, args)
    demand(not too_soon, text, "host-too-soon")
    demand(right, f"{when} the program {said}, and {summary.rstrip('.')}.", "fails")


def _passes_at_once(answer: str, name: str, args: tuple[str, ...]) -> bool:
    """Whether it says PASS where nobody has to wait for what streams wrote."""
    words = ran(answer, name, *args, at_once=True).printed.split()
    return "PASS" in words and "FAIL" not in words


def _in_short(run: ProgramRun) -> str:
    return run.found[0].partition(", and nothing orders")[0].removeprefix(f"{run.kinds[0]}: ").rstrip(".")


def _causes(run: ProgramRun) -> tuple[str, ...]:
    """Of a conflict, who comes too soon: a kernel, a copy of x, or a copy of y."""
    if run.kinds[0] != "stream-conflict":
        return "refused" if run.kinds[0].startswith("cuda") else run.kinds[0], run.kinds[0]
    launch, writes = "the launch" in run.found[0].partition(",")[0], " writes byte" in run.found[0]
    return {
        (True, False): "kernel-too-soon",
        (False, True): "copy-too-soon",
        (False, False): "result-too-soon",
        (True, True): "place-not-read",
    }[launch, writes], "stream-conflict"


def _squares(answer: Any) -> None:
    demand_text(answer, KERNEL)
    _demand_pinned(_code(answer))
    for matrices in MATRICES:
        run, when = ran(answer, NAME, str(matrices)), f"with {matrices} matrices"
        too_soon = bool(run.kinds) and "copy-too-soon" in _causes(run)
        why = [_why_too_soon(_code(answer), matrices)] * too_soon
        demand_right(answer, run, when, NAME, str(matrices), why=why)
        text = f"{when} there are {len(run.beside)} launches."
        demand(len(run.beside) == matrices, text, "other-launches")
        text = f"{when} the program holds {run.memory:,} bytes of the device, and two places are {MEMORY:,}."
        demand(run.memory <= MEMORY, text, "more-places")
        alone = next((m for m, copies in enumerate(run.beside[:-1]) if not copies), None)
        text = f"right, and slow: {when} no copy of x can run beside the kernel of matrix {alone}."
        why = [word for word in WHY_ALONE if alone is not None and word in run.alone[alone : alone + 1]]
        demand(alone is None, text, *why, "hides-nothing")
    for matrices in NOTICED_OF:
        wrong = ran(answer.replace(KERNEL, WRONG), NAME, str(matrices))
        text = f"with a kernel that errs once, in the last number of matrix 1 of {matrices}, it prints PASS as well."
        demand("PASS" not in wrong.printed, text, "checks-nothing")


def _demand_pinned(code: str) -> None:
    """x and y: what the text says of the arrays that its copies name. A run cannot tell one memory from another."""
    text = "x and y are ordinary memory, so a copy back keeps the host waiting until it is done."
    demand(PINNED.search(code), text, "not-pinned")
    for name in COPIED_OUT.findall(code):
        text = f"{name} is ordinary memory, so a copy back keeps the host waiting until it is done."
        demand(not _is_ordinary(name, code), text, "not-pinned")
    for name, _ in COPIED_IN.findall(code):
        text = f"{name} is ordinary memory: a copy out of it may keep the host waiting for all that its stream does."
        demand(not _is_ordinary(name, code), text, "not-pinned")


def _is_ordinary(name: str, code: str) -> bool:
    by_name = rf"\b{name}\s*=[^;=]*\b(malloc|calloc|aligned_alloc|new)\b|\bvector<[^;]*\b{name}\b"
    return bool(re.search(by_name, code)) and not re.search(rf"cudaHostRegister\s*\(\s*{name}\b", code)


def _why_too_soon(code: str, matrices: int) -> str:
    """Why a copy of this text still comes too soon: a cause, or "copy-too-soon" where nobody can say."""
    copied, launched = COPIED_IN.search(code), LAUNCHED_IN.search(code)
    if not copied or not launched or copied[2] == launched[1]:
        return "copy-too-soon"
    copies, math = copied[2], launched[1]
    records = [(each[1], each[2], each.start()) for each in RECORDS.finditer(code)]
    behind_copies = {event for event, stream, _ in records if stream == copies}
    behind_math = {event: at for event, stream, at in records if stream == math}
    asked = {(each[1], each[2]) for each in WAITS.finditer(code)}
    waited = {event for stream, event in asked if stream == copies}
    if waited & set(behind_math):
        if max(behind_math[event] for event in waited & set(behind_math)) < launched.start():
            return "recorded-early"
        return "no-wait-for-2" if matrices == MATRICES[0] else "no-wait-for-later"
    if waited & behind_copies:
        return "recorded-in-copies"
    own = {event for stream, event in asked if stream == math} & set(behind_math)
    return "wait-in-math" if own and not waited else "copy-too-soon"


def _code(text: str) -> str:
    return re.sub(r"//.*", "", text)


EXERCISES = {"09.3": _squares}
