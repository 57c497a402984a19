"""Suites of others as judges: what their kernels are, how one is launched here, and what is known of it. Whole programs
stand in programs.py.

Their text never enters this repository: each function takes the folder in which their checkouts lie, as owner+name, and
gives {case: verdict}, or None where the checkout is not there.
"""

import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import ptxsim

RIGHT = "right"
Verdicts = dict[str, str]

HIRACE = "JohnJacobsonIII+HiRace-Artifact-SC24"
"""Has the kernels of Indigo (Liu, Azami, Walters, Burtscher, 2022) for `int`, and six graphs."""
OPTIONS = ("--std=c++17", "-arch=sm_80")
RACES = {kind.name for kind in ptxsim.KINDS if kind.race} | {"order-dependent"}
RACING = re.compile("atomicBug|guardBug|syncBug|raceBug")
"""In the name of a kernel: what its mistake is. A boundsBug alone is out of bounds, and no race."""


def indigo(folder: Path) -> Verdicts | None:
    """Each kernel on all graphs, small: a race is reported on one of them, or on none."""
    raced = _raced(folder, blocks=4, threads=64)
    return {path.stem: _verdict(path, any(races)) for path, races in raced.items()} or None


def hirace(folder: Path) -> Verdicts | None:
    """Each kernel on each graph, as large as HiRace's authors launched it."""
    raced = _raced(folder, blocks=1024, threads=256)
    return {
        f"{path.stem} on {graph.stem}": _verdict(path, races[at])
        for path, races in raced.items()
        for at, graph in enumerate(_graphs(folder))
    } or None


def _raced(folder: Path, blocks: int, threads: int) -> dict[Path, list[bool]]:
    """Whether a race is reported: {kernel: on each graph}"""
    kernels = sorted((folder / HIRACE / "indigo" / "indigo_sources").glob("*/*.cu"))
    races = partial(_races, graphs=_graphs(folder), blocks=blocks, threads=threads)
    with ProcessPoolExecutor() as pool:
        return dict(zip(kernels, pool.map(races, kernels, chunksize=10), strict=True))


def _graphs(folder: Path) -> list[Path]:
    return sorted((folder / HIRACE / "indigo" / "input").glob("*.egr"))


def _verdict(path: Path, raced: bool) -> str:
    meant = bool(RACING.search(path.stem))
    return RIGHT if raced == meant else "false alarm" if raced else "missed"


def _races(path: Path, graphs: list[Path], blocks: int, threads: int) -> list[bool]:
    """Whether a race is reported, on each graph."""
    kernel = ptxsim.compile(_device_code(path.read_text(encoding="utf-8")), "test_kernel", OPTIONS)
    reports = [ptxsim.launch(kernel, blocks, threads, _arguments(graph)) for graph in graphs]
    return [any(hazard.kind in RACES for hazard in report.hazards) for report in reports]


def _device_code(text: str) -> str:
    """From the type of the data to the end of the kernel; behind it stands what the host compares with."""
    kernel = text[text.index("typedef") : text.index("void serial_code")]
    return kernel.replace('#include "indigo_cuda.h"', "").replace("__global__", 'extern "C" __global__')


def _arguments(graph: Path) -> list:
    """Where each vertex's neighbours begin, the neighbours, two arrays of small numbers, the number of vertices."""
    vertices, edges, *rest = np.fromfile(graph, "i4")
    draw, size = np.random.default_rng(1), max(vertices, edges)
    data = [draw.integers(0, below, size).astype("i4") for below in (vertices, max(edges, 1))]
    for each in data:
        each[0] = 0
    begins, neighbours = np.split(np.array(rest, "i4"), [vertices + 1])
    return [begins, neighbours, *data, np.int32(vertices)]
