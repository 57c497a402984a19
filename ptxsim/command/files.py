"""What somebody names as the file to check: its text, or what it is and what to do with it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..front.kernel import LaunchError
from ..ground.foreign import LARGEST

ELF, FAT_BINARY = b"\x7fELF", b"\x50\xed\x55\xba"
"""How machine code begins: a cubin, an object or a program; and nvcc's container of several."""
UTF_16 = b"\xff\xfe", b"\xfe\xff"
"""How a text begins that PowerShell's > has written."""
MOST_NAMED = 3
MACHINE_CODE = (
    "it is machine code, which only a GPU runs. Give the CUDA C++ that it was made of, or PTX: `nvcc -ptx FILE.cu` "
    "makes it. `cuobjdump -ptx FILE` takes it out of a program that holds some"
)
NO_TEXT = "it is no text; give CUDA C++ or PTX"
PYTHON = """\
it is Python. What runs here is CUDA C++, or the PTX that a compiler made of Python. In Python:
    CuPy, of RawKernel(source, "name"):  kernel = ptxsim.compile(source, "name")
    Numba:   ptx, _ = cuda.compile_ptx(function, types, cc=(9, 0), lineinfo=True); kernel = ptxsim.from_ptx(ptx)
    Triton:  kernel = ptxsim.from_ptx(compiled.asm["ptx"]), of compiled = kernel[grid](...) or triton.compile(...)
and then print(ptxsim.launch(kernel, grid, block, (arrays and numbers))). Or put PTX into a file: ptxsim check x.ptx"""
NOTEBOOK = "it is a notebook; write the kernel's text into a file of its own, x.cu"


def read(name: str) -> str:
    """The text of a file. Raises LaunchError for what is none, and what cannot be CUDA C++ nor PTX."""
    path = Path(name)
    if path.suffix == ".py":
        raise LaunchError(PYTHON)
    if path.suffix == ".ipynb":
        raise LaunchError(NOTEBOOK)
    try:
        with open(path, "rb") as file:  # a pipe will do, and /dev/zero never ends
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise LaunchError(f"there is no such file{_some_of(path.parent, '; beside it lie ')}") from None
    except IsADirectoryError:
        raise LaunchError(f"it is a folder; name a file{_some_of(path, ', such as ')}") from None
    except OSError as reason:
        raise LaunchError(f"it cannot be read: {(reason.strerror or str(reason)).lower()}") from None
    if len(data) > LARGEST:
        raise LaunchError(f"it has more than {LARGEST:,} bytes; give the file of one kernel")
    if data.startswith((ELF, FAT_BINARY)):
        raise LaunchError(MACHINE_CODE)
    if data.startswith(UTF_16):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data.rstrip(b"\0"):  # PTX that a driver was to read ends with one
        raise LaunchError(NO_TEXT)
    return data.decode("utf-8-sig", errors="replace")


def _some_of(folder: Path, words: str) -> str:
    """Which files of a folder could be meant, behind these words."""
    found = sorted(folder.glob("*.cu")) if folder.is_dir() else []
    return words + ", ".join(map(str, found[:MOST_NAMED])) if found else ""


@dataclass
class Hints:
    """What may help where a file cannot be checked: before the compiler's words, and behind all others."""

    headers: list[str] = field(default_factory=list)
    program: list[str] = field(default_factory=list)

    def add(self, name: str, program: bool, not_here: Sequence[str]) -> None:
        """`program`: whether the file has a main. `not_here`: headers that it includes and nobody found."""
        if not_here:
            named = ", ".join(f"<{header}>" for header in not_here[:MOST_NAMED])
            more = f" and {len(not_here) - MOST_NAMED} more" if len(not_here) > MOST_NAMED else ""
            self.headers.append(
                f"{name}: not found, and left out: {named}{more}. If the kernel needs it, give the folder in which it "
                "lies: --option=-Ifolder"
            )
        if program:
            typed = f"`ptxsim run {shlex.quote(name)}`"
            self.program.append(
                f"{name}: it has a main: {typed} takes the program as it is, with its own launches"
            )
