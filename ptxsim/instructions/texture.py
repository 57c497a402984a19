"""Fetches of textures (PTX ISA, "tex"): of one, two and three dimensions, of layers of one or two, and of cubes.

Their memory is read as the launch found it: what the launch itself writes there need not be seen, as on a GPU, and
nobody looks for such a write.
"""

from collections.abc import Callable

import numpy as np

from ..ground.memory import Buffer, Miss
from ..ground.texture import Tap, Texture, on_faces
from ..ptx.opcode import DTYPES, UnsupportedInstruction
from ..ptx.program import Instruction
from ..races.shadow import Act
from ..units.access import Access, Memories
from .registry import Operands, on_machine

AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3}
"""Coordinates of each kind of texture; that of a layer comes before them."""
FETCH = 4
"""Steps of work (work.py) of each texel."""
READS = Act(True, False)


@on_machine("tex")
def tex(decoder: Operands, ins: Instruction) -> Callable:
    """tex.geometry.v4.type.of_coordinates {d, d, d, d}, [texture, {coordinates}]"""
    geometry, length, *_ = ins.opcode.modifiers
    ins.opcode.only(*AXES, "v4")
    axes, (kind, of_coordinates) = AXES[geometry], ins.opcode.types
    to, place = ins.operands
    if length != "v4" or kind not in ("f32", "s32", "u32") or of_coordinates not in ("f32", "s32"):
        raise UnsupportedInstruction("fetches of textures give four numbers of 32 bits")
    read_handle = decoder.source(place.base, "u64")
    layered, cubes = geometry.startswith("a"), geometry.endswith("cube")
    items = place.coordinates
    read_layer = decoder.source(items[0], "u32") if layered else None
    reads = [decoder.source(item, of_coordinates) for item in items[layered:][:axes]]
    puts, dtype = [decoder.target(item) for item in to.items], DTYPES[kind]

    def step(machine: Memories) -> None:
        count = machine.count()
        handles = machine.spread(read_handle(machine))
        coordinates = [machine.spread(read(machine)) for read in reads]
        layers = machine.spread(read_layer(machine)) if read_layer else None
        if cubes:
            coordinates, layers = on_faces(coordinates, layers)
        found = np.zeros((len(puts), count), dtype)
        for handle in np.unique(handles).tolist():
            at = np.flatnonzero(handles == handle)
            texture = machine.launch.textures.get(handle)
            buffer = machine.memory.find(texture.address) if texture else None
            if texture is None or buffer is None or buffer.lost:
                _lost(machine, decoder.pc, handles == handle, handle, buffer)
                continue
            taps = texture.taps([each[at] for each in coordinates], None if layers is None else layers[at])
            found[: texture.channels, at] = _fetched(
                machine, decoder.pc, texture, buffer, list(taps), at
            ).astype(dtype)
        for put, values in zip(puts, found, strict=True):
            put(machine, values)

    return step


def _fetched(
    machine: Memories, pc: int, texture: Texture, buffer: Buffer, taps: list[Tap], at: np.ndarray
) -> np.ndarray:
    """The channels that the active lanes `at` get."""
    first = texture.address - buffer.base
    data = buffer.memory.data[first : first + texture.size]
    machine.work(FETCH * len(taps) * len(at) / 32)
    for tap in taps:
        _note(machine, pc, texture, buffer, tap, at)
    if len(taps) == 1:
        return texture.values(data, taps[0])
    found = np.zeros((texture.channels, len(at)), np.float32)
    for tap in taps:
        found += np.where(tap.weight > 0, texture.values(data, tap) * tap.weight, np.float32(0))
    return found


def _note(machine: Memories, pc: int, texture: Texture, buffer: Buffer, tap: Tap, at: np.ndarray) -> None:
    """Those who watch hear of the texels that count."""
    counts = np.flatnonzero(tap.inside & (tap.weight > 0))
    if not len(counts):
        return
    unit = (texture.address - buffer.base + tap.offset[counts]) // texture.texel
    if buffer.seen:
        buffer.seen.note("reads", unit, texture.texel)
    every, machine.idx = machine.idx, machine.active()[at[counts]]
    machine.check_written(Access(pc, "global", texture.texel, READS, coherent=False), buffer, unit)
    machine.idx = every


def _lost(machine: Memories, pc: int, bad: np.ndarray, handle: int, buffer: Buffer | None) -> None:
    words = (
        f"a fetch of a texture whose memory was freed: {buffer.label}"
        if buffer
        else f"a fetch of texture object {handle:#x}, which cudaCreateTextureObject never gave, or which was destroyed"
    )
    machine.missed(Miss("out-of-bounds", bad, lambda: words, "freed-array" if buffer else "no-array"), pc)
