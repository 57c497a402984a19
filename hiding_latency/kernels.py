"""Kernels of this Python, which talk through Unix sockets in a folder of their own where there are such.

A TCP port that is free when Jupyter looks for one may be somebody else's when the kernel takes it: among hundreds of
kernels it happened.
"""

import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager, KernelManager

LONGEST = 90
"""Bytes of a path that a socket may have on each system, less a port's number and some room."""


class ThisPython(KernelSpecManager):
    """Every kernel name stands for the Python that runs this file, whatever kernels are registered."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "--log-level=ERROR", "-f", "{connection_file}"]
        return KernelSpec(argv=command, language="python", display_name="Python")


def through_sockets(manager: KernelManager) -> None:
    """Let a kernel that is not started yet talk through files; on Windows, and where their path is too long, by TCP."""
    if os.name == "nt":
        return
    folder = tempfile.mkdtemp(prefix="kernel-")
    weakref.finalize(manager, shutil.rmtree, folder, ignore_errors=True)
    if len(os.fsencode(folder)) <= LONGEST:
        manager.transport, manager.ip = "ipc", str(Path(folder, "k"))


class OwnKernel(AsyncKernelManager):
    """A kernel of this Python."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"kernel_spec_manager": ThisPython()})
        through_sockets(self)


class KernelOfNbval(KernelManager):
    """The same for who calls it without `await`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"kernel_spec_manager": ThisPython()})
        through_sockets(self)
