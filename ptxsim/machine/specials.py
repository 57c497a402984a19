"""Special registers (PTX ISA, "Special Registers"), for all lanes of a machine."""

from typing import Protocol

import numpy as np

from ..gpus import WARP
from ..ground.memory import Fault, SharedMemory
from ..lanes import Lanes
from ..ptx.facts import not_simulated
from ..units.clusters import Clusters
from .launched import LaunchState


class Placed(Lanes, Protocol):
    """What says where each lane is."""

    launch_of: np.ndarray
    """The launch of each resident block, of those side by side."""
    shared: SharedMemory
    clusters: Clusters

    @property
    def launch(self) -> LaunchState: ...


def special(machine: Placed, name: str) -> np.ndarray:
    """What a special register holds: a value for each lane, or the one that all have."""
    launch = machine.launch
    axis = "xyz".find(name[-1])
    kind = name[1:].split(".")[0]
    if "cluster" in kind:
        return _of_cluster(machine, kind, axis)
    if kind == "ntid":
        return np.array([launch.block[axis]], np.uint32)
    if kind == "nctaid":
        return _of_launch(machine, [grid[axis] for grid in launch.grids])
    if kind == "tid":
        return _index(machine.thread_of, launch.block, axis)
    if kind == "ctaid":
        return _place(machine, axis)
    lane = (machine.thread_of % WARP).astype(np.uint32)
    one = np.uint32(1)
    masks = {
        "lanemask_eq": one << lane,
        "lanemask_lt": (one << lane) - one,
        "lanemask_le": (one << lane) * np.uint32(2) - one,
        "lanemask_gt": ~((one << lane) * np.uint32(2) - one),
        "lanemask_ge": ~((one << lane) - one),
    }
    if kind in masks:
        return masks[kind]
    simple: dict[str, np.ndarray] = {
        "laneid": lane,
        "warpid": (machine.thread_of // WARP).astype(np.uint32),
        "nwarpid": np.array([machine.warps_per_block], np.uint32),
        "smid": machine.block_of.astype(np.uint32),
        "nsmid": np.array([len(machine.blocks)], np.uint32),
        "gridid": np.array([1], np.uint64),
        "dynamic_smem_size": np.array([launch.dynamic_shared], np.uint32),
        "total_smem_size": np.array([launch.shared_bytes - machine.shared.reserved], np.uint32),
        # cooperative groups expect 288 bytes there, and give each part a value before they use it
        "reserved_smem_offset_1": np.zeros(1, np.uint32),
        # The address of the workspace of a cooperative launch, as cooperative_groups/details/driver_abi.h reads it.
        "envreg1": np.array([_workspace(launch) >> 32], np.uint32),
        "envreg2": np.array([_workspace(launch) & 0xFFFFFFFF], np.uint32),
    }
    if name == "WARP_SZ":
        return np.array([WARP], np.uint32)
    if kind not in simple:
        reason = not_simulated(name) or f"the special register {name} is not simulated"
        raise Fault("unsupported-instruction", reason)
    return simple[kind]


def _workspace(launch: LaunchState) -> int:
    return launch.workspace.base if launch.workspace else 0


def _of_cluster(machine: Placed, kind: str, axis: int) -> np.ndarray:
    """Special registers of clusters."""
    cluster, size = machine.launch.code.program.cluster, machine.clusters.size
    if kind in ("cluster_ctarank", "cluster_nctarank"):
        return (
            (machine.block_of % size).astype(np.uint32)
            if kind == "cluster_ctarank"
            else np.array([size], np.uint32)
        )
    if kind == "is_explicit_cluster":
        return np.array([size > 1], bool)
    if kind == "cluster_nctaid":
        return np.array([cluster[axis]], np.uint32)
    if kind == "nclusterid":
        return _of_launch(machine, [grid[axis] // cluster[axis] for grid in machine.launch.grids])
    block = _place(machine, axis)
    return block % np.uint32(cluster[axis]) if kind == "cluster_ctaid" else block // np.uint32(cluster[axis])


def _of_launch(machine: Placed, values: list[int]) -> np.ndarray:
    """For each lane the value of its launch, or one if they are the same."""
    each = np.array(values, np.uint32)
    return each[:1] if (each == each[0]).all() else each[machine.launch_of[machine.block_of]]


def _place(machine: Placed, axis: int) -> np.ndarray:
    """Where its block is in its grid."""
    launch, linear = machine.launch, machine.blocks[machine.block_of]
    if len(launch.grids) == 1:
        return _index(linear, launch.grids[0], axis)
    places = np.stack([np.broadcast_to(_index(linear, grid, axis), linear.shape) for grid in launch.grids])
    return places[machine.launch_of[machine.block_of], machine.every_lane]


def _index(linear: np.ndarray, shape: tuple[int, int, int], axis: int) -> np.ndarray:
    if shape[axis] == 1:
        return np.zeros(1, np.uint32)
    stride = int(np.prod(shape[:axis]))
    return (linear // stride % shape[axis]).astype(np.uint32)
