"""Products by the kernels of the lessons."""

from course_lib import Gemm, kernel_source
from course_lib.check.job import Job
from course_lib.measure import records
from cupy_or_sim import BLACKWELL
from cupy_or_sim.device import options_for
from tests.kernels.golden import FOLDER
from tests.lessons import DTYPES, GEMMS, PROBLEMS, kernel

SPEEDS_2048, STALLS = FOLDER / "speeds_2048_h100.json", FOLDER / "stalls_h100.json"


def products(size: int) -> dict[tuple[str, str], Job]:
    """(notebook, kernel): its product with M, N and K of this size, in the lessons' order, but for those of a B200:
    nobody here has timed them."""
    return {
        (notebook, name): Job(
            kernel(kernel_source(notebook, name), name), Gemm(size, size, size, DTYPES[notebook]), launch
        )
        for (notebook, name), launch in GEMMS.items()
        if isinstance(PROBLEMS[notebook](size, size, size), Gemm)
        and options_for(kernel_source(notebook, name)) != BLACKWELL
    }


def at_2048() -> dict[str, Job]:
    """By the key of its measurement in SPEEDS_2048."""
    return {records.kernel_key(job): job for job in products(2048).values()}


def sampled() -> dict[tuple[str, str], Job]:
    """Those whose speed at 4096^3 is recorded, which STALLS has too."""
    return {
        place: job for place, job in products(4096).items() if records.find("speeds", records.kernel_key(job))
    }
