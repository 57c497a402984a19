"""CuPy where a GPU is, its stand-in on ptxsim elsewhere; and what kernels of the course are compiled and launched with.

device         which machine this is: `cp`, compile options
kernel         what a kernel is to all that runs it
launch         how a GEMM kernel is launched
given          what is taken for a kernel and a launch
cupy_on_numpy  `cp` where there is no GPU: the calls of CuPy, on NumPy and the simulator
limits         what the GPU in use gives a block, and whether a launch fits
simulate       the simulator, for kernels and arrays of either `cp`
tensor_maps    what the copy engine of a Hopper GPU is told of a matrix
cudnn          attention by cuDNN, where PyTorch is installed
timing         launches timed on a GPU, cuBLAS, the machine's description
power          how fast a kernel is when it runs on and on, and what the chip draws
headers        the CUDA headers in include/, and kernels that hold their text themselves
keys           under which names measurements of a kernel are kept
style          one look for the pictures of all packages above, and how a picture is shown
slim_svg       an SVG without what nobody sees
"""

from . import device
from .device import BLACKWELL, HOPPER, OPTIONS, only_on
from .headers import course_header, in_one_piece
from .launch import Launch
from .limits import this_gpu
from .simulate import simulate
from .tensor_maps import tensor_map
from .timing import cublas

__all__ = [
    "BLACKWELL",
    "HOPPER",
    "OPTIONS",
    "Launch",
    "course_header",
    "cp",
    "cublas",
    "in_one_piece",
    "only_on",
    "simulate",
    "tensor_map",
    "this_gpu",
]


def __getattr__(name: str) -> object:
    if name == "cp":
        return device.cp
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
