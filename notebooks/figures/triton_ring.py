"""A matrix product of Triton's, compiled for num_stages of one's choice: kept texts, so that nobody needs Triton.

The text that Triton makes is kept under the source, as kernels' texts are (ptxsim/compiler/cache.py); `make outputs`
writes it into the notebook's zip, with Triton (`make install WITH=compilers`).
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np

from ptxsim import Report, from_ptx, launch
from ptxsim.compiler import cache

TILE = 64, 64, 32
TYPES = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "N": "i32", "K": "i32"}
"""Of the kernel's parameters."""
CONSTANTS = dict(zip(("BM", "BN", "BK"), TILE, strict=True))
WARPS, ARCH, ALIGNED = 4, 80, 16
WAIT = re.compile(r"(cp\.async\.wait_group)\s+(\d+);")
_SHOWN = re.compile(r"^(\$L__BB0_2:|cp\.async\S*(?: \d+)?;?|bar\.sync|ldmatrix|mma\.sync|@%p\d+ bra)")
_WORDS = {
    "cp.async.cg.shared.global": "copy of 16 bytes a thread",
    "cp.async.commit_group;": "commit",
    "bar.sync": "barrier",
    "ldmatrix": "ldmatrix",
    "mma.sync": "mma",
    "$L__BB0_2:": "the loop begins",
}


class TritonMissing(cache.ToolMissing):
    """This text is not one of those that were compiled, and Triton is not here."""


@dataclass(frozen=True)
class TritonRing:
    """What Triton made of `source`. `shared`: bytes of shared memory that it asks for."""

    source: str
    ptx: str
    shared: int

    def with_wait(self, count: int) -> TritonRing:
        """The same text; all its waits but the last one, which is behind the loop, leave so many groups on their
        way."""
        *waits, _ = WAIT.finditer(self.ptx)
        end = waits[-1].end()
        return replace(self, ptx=WAIT.sub(rf"\1 {count};", self.ptx[:end]) + self.ptx[end:])

    def run(self, k_tiles: int = 8) -> tuple[bool, Report]:
        """Four tiles of C in the simulator: whether the numbers are right, and the report."""
        m, n, k = TILE[0] * 2, TILE[1] * 2, TILE[2] * k_tiles
        a, b = (np.random.default_rng(seed).integers(-3, 4, (m, k)).astype(np.float16) for seed in (1, 2))
        c = np.full((m, n), np.nan, np.float32)
        kernel = replace(from_ptx(self.ptx), source=self.source)
        scratch = None, None
        report = launch(
            kernel, (2, 2), 32 * WARPS, (a, b, c, np.int32(n), np.int32(k), *scratch), self.shared
        )
        return bool((c == a.astype(np.float32) @ b.T.astype(np.float32)).all()), report

    def outline(self) -> str:
        """Its copies, waits, barriers and math, in their order, up to the end of its loop."""
        lines = [
            f"{len(found):3} x {each}"
            if (found := list(group)) and each != _WORDS["$L__BB0_2:"]
            else f"-- {each}"
            for each, group in groupby(self._steps())
        ]
        return "\n".join(lines)

    def _steps(self) -> Iterator[str]:
        for line in self.ptx.splitlines():
            found = _SHOWN.match(re.sub(r"\s+", " ", line.strip()))
            if found and found[1].endswith("bra"):
                if "$L__BB0_2;" in line:
                    return
            elif found:
                yield _WORDS.get(found[1], found[1].removeprefix("cp.async.").rstrip(";"))


def triton_ring(source: str, stages: int) -> TritonRing:
    """Compile `matmul` of a source for num_stages = `stages`, with TILE, for compute capability 8.0.

    Raises TritonMissing for a text that does not ship, where Triton is not installed."""
    key = cache.key_of("triton", source, ("matmul",), (f"num_stages={stages}",))
    made = partial(_compiled, source, stages)
    shared, _, ptx = cache.kept(key, partial(cache.made_here, key, made)).partition("\n")
    return TritonRing(source, ptx, int(shared))


def _compiled(source: str, stages: int) -> str:
    """The bytes of shared memory in a line of their own, and below it the PTX."""
    try:
        triton = import_module("triton")
    except ImportError:
        raise TritonMissing(
            "this text is not one of those that ship, and to compile it here takes Triton: pip install triton"
        ) from None
    with TemporaryDirectory() as folder:
        kernel = _module(Path(folder, "matmul.py"), source).matmul
        names = kernel.arg_names
        made = triton.compile(
            triton.compiler.ASTSource(
                kernel,
                {name: TYPES.get(name, "constexpr") for name in names},
                {(names.index(name),): value for name, value in CONSTANTS.items()},
                {(names.index(name),): [["tt.divisibility", ALIGNED]] for name in TYPES},
            ),
            target=triton.backends.compiler.GPUTarget("cuda", ARCH, 32),
            options={"num_stages": stages, "num_warps": WARPS, "enable_fp_fusion": True},
        )
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*/', r'\1"', made.asm["ptx"])  # no folder of this machine
    ptx, _, _ = ptx.partition("\t.section\t.debug_")
    return f"{made.metadata.shared}\n{ptx}"


def _module(file: Path, source: str) -> ModuleType:
    """Triton reads a kernel's text where Python found it."""
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[file.stem]
    return module
