"""The GPU that a program sees: its limits, as `cudaDeviceGetAttribute` numbers them."""

from __future__ import annotations

from ..gpus import GPUS, REGISTERS, SHARED_BY_DEFAULT, WARP, Gpu, find_gpu

MEMORY = 80 << 30
"""Bytes of device memory. The machine's own memory ends sooner: what nobody touches takes none."""
CONSTANT = 64 << 10


def gpu_of(arch: int) -> Gpu:
    """The first GPU of this architecture, or the newest one known that is older."""
    known = [gpu for gpu in GPUS.values() if int(gpu.arch[3:]) <= arch]
    if not known:
        raise ValueError(f"no GPU of compute capability {arch // 10}.{arch % 10} is known here")
    newest = max(int(gpu.arch[3:]) for gpu in known)
    return find_gpu(f"sm_{newest}")


def attributes(gpu: Gpu, arch: int) -> dict[int, int]:
    """By the numbers of cudaDeviceAttr (driver_types.h). What is not here is 0."""
    threads = 1024
    return {
        1: threads,  # of a block
        **{2: 1024, 3: 1024, 4: 64},  # of a block, along x, y, z
        **{5: 2**31 - 1, 6: 65535, 7: 65535},  # blocks of a grid
        8: SHARED_BY_DEFAULT,
        9: CONSTANT,
        10: WARP,
        11: 2**31 - 1,  # bytes between rows of a copy
        12: REGISTERS,
        13: (gpu.clock_mhz or 1700) * 1000,
        14: 512,  # textures are aligned to so many bytes
        16: gpu.sms,
        19: 1,  # maps memory of the host
        31: 1,  # several kernels at once
        36: 2_619_000,  # clock of the memory, in kHz
        37: 5120,  # width of the memory, in bits
        38: 50 << 20,  # bytes of L2
        39: gpu.warps * WARP,
        40: 3,  # engines for copies
        41: 1,  # one address space
        75: arch // 10,
        76: arch % 10,
        78: 1,  # priorities of streams
        81: gpu.shared,
        82: REGISTERS,
        83: 1,  # managed memory
        89: 1,  # which host and device may use at once
        91: 1,  # registered memory of the host has one address
        95: 1,  # cooperative launches
        97: gpu.shared_block,
        99: 1,  # registers memory of the host
        106: gpu.blocks,
        111: gpu.reserved,
        115: 1,  # pools of memory
        120: arch >= 90,  # clusters
    }
