"""Small kernels for tests: a body, launched at once. `// HERE` marks the lines at which a finding is expected."""

import numpy as np

import ptxsim
from ptxsim import launch

MACROS = r"""
#define SHARED(place) ((unsigned)__cvta_generic_to_shared(place))
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(SHARED(to)), "l"(from) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#define BAR(id, n) asm volatile("bar.sync %0, %1;" :: "n"(id), "n"(n) : "memory")
#define ARRIVE(id, n) asm volatile("bar.arrive %0, %1;" :: "n"(id), "n"(n) : "memory")
"""


def source_of(body, parameters="int* out, const int* in", before=""):
    return f'{MACROS}{before}\nextern "C" __global__ void k({parameters})\n{{\nint t = threadIdx.x;\n{body}\n}}\n'


def run(body, *args, parameters="int* out, const int* in", before="", grid=1, block=32, options=(), **more):
    """Launch a kernel with this body; `t` is the thread in it."""
    kernel = ptxsim.compile(source_of(body, parameters, before), "k", options)
    return launch(kernel, grid, block, args, **more)


def run_on_numbers(body, size=256, **more):
    """`out` is full of -1, `in` is 0, 1, 2, ...; the report and `out`."""
    out = np.full(size, -1, np.int32)
    return run(body, out, np.arange(size, dtype=np.int32), **more), out


def found(report):
    """The kinds of the findings, and the lines among theirs that are not marked as expected."""
    marked = {n for n, text in enumerate(report.kernel.source.splitlines(), 1) if "// HERE" in text}
    kinds = [hazard.kind for hazard in report.hazards]
    return kinds, {hazard.line for hazard in report.hazards} - marked
