"""What was handed over as a kernel, or as several: refused in words where it is something else."""

from collections.abc import Mapping

from .launch import Launch

KERNEL = "cp.RawKernel(source, name, options=OPTIONS)"


def check_kernel(kernel: object) -> None:
    """Raises TypeError for what is no `cp.RawKernel`, nor a function of a `cp.RawModule`."""
    if hasattr(kernel, "code") and hasattr(kernel, "options"):
        return
    about = f"expected {KERNEL}, got a {type(kernel).__name__}"
    if isinstance(kernel, str):
        what = "the source alone" if "__global__" in kernel else f"the text {kernel[:40]!r}"
        about += f": {what} cannot be launched, it takes the source and the kernel's name"
    raise TypeError(about)


def check_launched(kernel: object, launch: object) -> None:
    """Raises TypeError for what is no kernel, or no Launch."""
    check_kernel(kernel)
    if not isinstance(launch, Launch):
        raise TypeError(
            f"expected a launch, such as Launch(tile=(64, 64, 16), threads=256), got a {type(launch).__name__}"
        )


def check_labelled(kernels: object) -> None:
    """Raises TypeError for what is no {label: (kernel, launch)}."""
    if not isinstance(kernels, Mapping) or not all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in kernels.values()
    ):
        raise TypeError(
            f'expected kernels by their labels, {{"mine": (kernel, launch)}}, got a {type(kernels).__name__}'
        )
    for kernel, launch in kernels.values():
        check_launched(kernel, launch)
