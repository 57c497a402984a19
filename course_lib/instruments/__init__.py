"""The instruments: `from course_lib.instruments import waves, profile`. What asks about one kernel takes it first, then
its problem, then its launch.

bubbles              where every cycle went, by source line and reason; by Nsight Compute or modelled
sass, order          machine code beside its source, and in which order it stands
profile              what Nsight Compute counts
waves                which SM works on what
timed                calls compared, such as `matmul` with cuBLAS; a launch that is no GEMM, modelled
checklist, evidence  twelve properties of a good kernel, ticked
spans, span_chart    who works on what, and when

What a single lesson needs besides stands beside it, in notebooks/figures.
"""

from ..measure.ncu import ncu
from .bubbles import bubbles
from .checklist import checklist
from .profile import profile
from .sass import sass
from .spans import spans
from .timed import modelled_us, timed
from .waves import waves

__all__ = ["bubbles", "checklist", "modelled_us", "ncu", "profile", "sass", "spans", "timed", "waves"]
