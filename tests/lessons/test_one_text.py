"""NVRTC makes the same PTX of a lesson's kernel each time.

It need not: from loads of float4 through an array of floats it made one of five texts, by chance of the addresses in
its process. A verdict, a count or a record that rests on such a text changes by chance.
"""

import random
import re

import pytest

from course_lib import kernel_source
from cupy_or_sim.device import options_for
from ptxsim.compiler import nvrtc
from tests.kernels.lesson_cases import GEMMS, OTHERS
from tests.sample import one_in

pytestmark = pytest.mark.usefixtures("compiled_anew")

TIMES = 3
CROWD: list[bytearray] = []
"""Objects that come and go between the compilations, so that the compiler's own lie elsewhere."""


def texts(source: str, times: int = TIMES) -> set[str]:
    """The different texts of so many compilations in this process."""
    found = set()
    for number in range(times):
        CROWD.append(bytearray(random.randrange(200_000)))
        if len(CROWD) > 50:
            CROWD.pop(random.randrange(50))
        options = (
            *options_for(source),
            f"-DTIME={number}",
        )  # nothing uses it: it only makes NVRTC compile again
        found.add(
            re.sub(r"^\s*(?:\.loc|//).*\n", "", nvrtc.compile_ptx(source, options=options).ptx, flags=re.M)
        )
    return found


@pytest.mark.parametrize(("notebook", "kernel"), one_in(2, [*OTHERS, *GEMMS]))
def test_a_lesson_kernel_has_one_text(notebook, kernel):
    assert len(texts(kernel_source(notebook, kernel))) == 1


def test_texts_that_differ_are_found():
    changing = 'extern "C" __global__ void k(int* x) { *x = TIME / 2; }'
    assert len(texts(changing)) == 2
