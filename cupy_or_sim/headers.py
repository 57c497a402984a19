"""The CUDA headers that kernels include as `<course/NAME>`: their text, and kernels that hold it themselves."""

import re

from .device import INCLUDE

_PART = re.compile(r"^#include <course/((?:gemm|hopper)/\w+\.cuh)>\n", re.MULTILINE)


def course_header(name: str) -> str:
    """The text of a header that kernels include as `<course/NAME>`: `course_header("cp_async.cuh")`."""
    path = INCLUDE / "course" / name
    if not path.is_file():
        known = ", ".join(sorted(each.name for each in path.parent.iterdir()))
        raise ValueError(f"there is no header {name!r}; headers: {known}")
    return path.read_text(encoding="utf-8")


def in_one_piece(source: str) -> str:
    """The source with the parts of `matmul` that it includes, `<course/gemm/...>` and `<course/hopper/...>`, written
    out: each once, where it comes first. Then a part can be edited and marked as the kernel's own text, and a kernel
    has the same records whether it includes its parts or holds them."""
    written: set[str] = set()

    def part(match: re.Match) -> str:
        if match[1] in written:
            return ""
        written.add(match[1])
        return _PART.sub(part, course_header(match[1]).replace("#pragma once\n", ""))

    return _PART.sub(part, source)
