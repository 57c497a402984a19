"""What the GPU in use gives a block, and whether a launch asks for more.

Where it does, the simulator runs it, and its measurements are recorded ones: who launches asks here.
"""

import re
from collections.abc import Callable
from math import prod
from typing import TypeVar

import ptxsim
from ptxsim import MessageOnly, refusal
from ptxsim.gpus import H100, WARP, Gpu

from . import device
from .kernel import Kernel
from .launch import Launch

T = TypeVar("T")
OF_ONE_ARCH = {"wgmma": "sm_90", "tcgen05": "sm_100"}
"""Instructions that one architecture alone has."""


class DoesNotFit(MessageOnly, ptxsim.LaunchError):
    """A launch asks for more than the GPU in use gives; the message is one sentence, which says what."""


def this_gpu() -> Gpu:
    """The limits of the GPU in use, as its driver says them; those of an H100 in the simulator, which keeps to them."""
    if device.backend() == "simulator":
        return H100
    cuda = device.cp.cuda
    gpu, name = cuda.Device(), cuda.runtime.getDeviceProperties(cuda.Device().id)["name"].decode()
    given = gpu.attributes
    return Gpu(
        name=name,
        driver_name=name,
        arch=f"sm_{gpu.compute_capability}",
        sms=given["MultiProcessorCount"],
        warps=given["MaxThreadsPerMultiProcessor"] // WARP,
        blocks=given["MaxBlocksPerMultiprocessor"],
        shared=given["MaxSharedMemoryPerMultiprocessor"],
        shared_block=given["MaxSharedMemoryPerBlockOptin"],
        reserved=given["ReservedSharedMemoryPerBlock"],
        l2=given["L2CacheSize"],
    )


def misfit(kernel: Kernel, launch: Launch) -> str:
    """What a launch asks for and the GPU in use does not give, in one sentence; "" where it fits or there is no GPU."""
    if device.backend() == "simulator":
        return ""
    gpu = this_gpu()
    used = (name for name in OF_ONE_ARCH if re.search(rf"course/{name}|\b{name}\.", kernel.code))
    only = next(used, None)
    if only and gpu.arch != OF_ONE_ARCH[only]:
        why = f"uses {only}, which is in {OF_ONE_ARCH[only]} alone, and {gpu.name} is {gpu.arch}"
    else:
        shared = kernel.shared_size_bytes + launch.shared_mem
        why = refusal(gpu, prod(launch.block), kernel.num_regs, shared)
    return why and f"{kernel.name} {why}: it runs in the simulator, and its measurements are recorded ones."


def made(make: Callable[[], T]) -> T | None:
    """What `make` returns on this machine's GPU. None without one, and where a launch that it prepares does not fit,
    which is said in a printed line."""
    if device.backend() == "simulator":
        return None
    try:
        return make()
    except DoesNotFit as why:
        print(why)
        return None


def runs_here(kernel: Kernel, launch: Launch) -> bool:
    """Whether this machine has a GPU that the launch fits. What does not fit is said in a printed line."""
    if device.backend() == "simulator":
        return False
    if said := misfit(kernel, launch):
        print(said)
    return not said
