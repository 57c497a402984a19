"""Texture objects of a program: whether CUDA makes one, and what it reads."""

from __future__ import annotations

import numpy as np

from ..ground.texture import Texture
from . import errors
from .context import Context, Stopped
from .sites import mark
from .wire import Answer

ARRAY, MIPMAPPED, LINEAR, PITCH = range(4)
"""Of cudaResourceType."""
PITCH_ALIGNMENT = 32
"""Bytes, of the rows of a texture in memory of cudaMallocPitch."""
NUMBERS = ("i", "u", "f")
"""Of cudaChannelFormatKind."""


class Textures:
    """Answers to what a program asks about them."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.made: dict[int, Texture] = {}
        self._last = 0

    def texture(self, kind: int, *numbers: int) -> Answer:
        """As shim/textures.cpp has them: where it lies and how large it is, its format, how it is read."""
        address, width, height, depth, pitch, *more = numbers
        channels, form, modes = [bits for bits in more[:4] if bits], more[4], more[5:8]
        filters, as_floats, normalised, others = more[8:12]
        border, site = np.array(more[12:16], np.uint32).view(np.float32), more[16]
        self.context.see(site)
        if kind == MIPMAPPED or others:
            raise Stopped(
                f"the program makes a texture with mip maps, sRGB, seamless cubes or a view at {mark(site)}: the "
                "simulator has none"
            )
        if form >= len(NUMBERS) or len(set(channels)) != 1 or channels[0] not in (8, 16, 32):
            raise Stopped(
                f"the program makes a texture at {mark(site)} of a format that the simulator has not"
            )
        number = np.dtype(f"{NUMBERS[form]}{channels[0] // 8}")
        texture = Texture(
            address,
            (width, height, depth),
            pitch or width * number.itemsize * len(channels),
            number,
            len(channels),
            (modes[0], modes[1], modes[2]),
            bool(filters),
            bool(normalised),
            bool(as_floats),
            tuple(border.tolist()),
            kind == LINEAR,
        )
        if why := self._why_not(texture, kind):
            return self.context.refused("cudaCreateTextureObject", errors.INVALID_VALUE, why, site, (0,))
        self._last += 1
        self.made[self._last] = texture
        return Answer(0, (self._last,))

    def no_texture(self, number: int) -> Answer:
        """It is destroyed."""
        self.made.pop(number, None)
        return Answer()

    def _why_not(self, texture: Texture, kind: int) -> str:
        """Why CUDA makes no such texture; "" if it does."""
        whole = texture.number.kind in "iu"
        if texture.channels == 3:
            return "a texture has one, two or four channels"
        if not self.context.arena.find(texture.address, texture.size):
            return "its memory is none of the device, or smaller than the texture"
        if kind == PITCH and texture.pitch % PITCH_ALIGNMENT:
            return f"its rows begin {texture.pitch} bytes apart; that must be a multiple of {PITCH_ALIGNMENT}"
        if texture.linear and whole and not texture.as_floats and kind != LINEAR:
            return "it filters integers: linear filtering needs float, or cudaReadModeNormalizedFloat"
        if texture.as_floats and whole and texture.number.itemsize == 4:
            return "cudaReadModeNormalizedFloat is for integers of 8 and 16 bits"
        return ""
