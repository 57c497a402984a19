"""Textures: where a fetch looks, and what it makes of what it finds there (CUDA C++ Programming Guide, "Texture
Fetching").

A filter's weights have eight bits behind the point, as the guide says; that they are rounded to the nearest is a guess.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

WRAP, CLAMP, MIRROR, BORDER = range(4)
"""Of cudaTextureAddressMode."""
WEIGHTS = 256
"""A weight is so many parts of this."""
FACES = 6
"""Of a cube: its layers, in the order +x, -x, +y, -y, +z, -z."""


def on_faces(direction: list[np.ndarray], layer: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray]:
    """Where these vectors x, y, z from the middle of a cube meet it: two coordinates from 0 to 1, and the face among
    those of all layers (the guide's table of cubemaps)."""
    x, y, z = direction
    size = [np.abs(each) for each in direction]
    along_x = (size[0] >= size[1]) & (size[0] >= size[2])
    along_y = ~along_x & (size[1] >= size[2])
    back = np.select([along_x, along_y], [x < 0, y < 0], z < 0)
    sign = np.where(back, np.float32(-1), np.float32(1))
    s = np.select([along_x, along_y], [-sign * z, x], sign * x)
    t = np.where(along_y, sign * z, -y)
    face = np.select([along_x, along_y], [0, 2], 4) + back
    longest = np.select([along_x, along_y], size[:2], size[2])
    cube = np.zeros(1, np.int64) if layer is None else layer.astype(np.int64)
    return [(each / longest + 1) / 2 for each in (s, t)], cube * FACES + face


class Tap(NamedTuple):
    """One of the texels that a fetch takes: for each lane its place in the texture's memory, counted in texels' bytes,
    its weight, and whether it lies inside."""

    offset: np.ndarray
    weight: np.ndarray
    inside: np.ndarray


@dataclass(frozen=True)
class Texture:
    """`sizes`: texels in x, y, z (or layers); a row begins `pitch` bytes behind the one before. `number`: of a channel.
    `modes`: what becomes of coordinates outside, in x, y, z. `linear`: it filters. `normalised`: 1 is the end.
    `as_floats`: a number's range is 0 to 1, or -1 to 1. `plain`: memory of cudaMalloc in a row, that is indexed."""

    address: int
    sizes: tuple[int, int, int]
    pitch: int
    number: np.dtype
    channels: int
    modes: tuple[int, int, int]
    linear: bool
    normalised: bool
    as_floats: bool
    border: tuple[float, ...]
    plain: bool

    @property
    def texel(self) -> int:
        """Bytes of one."""
        return self.number.itemsize * self.channels

    @property
    def size(self) -> int:
        return self.pitch * (self.sizes[1] * self.sizes[2] - 1) + self.sizes[0] * self.texel

    def taps(self, coordinates: list[np.ndarray], layer: np.ndarray | None) -> Iterator[Tap]:
        """What a fetch at these coordinates takes, of x, y, z as many as it has; `layer`: of a layered texture."""
        axes = [self._axis(axis, each) for axis, each in enumerate(coordinates)]
        lanes = len(coordinates[0])
        rows = np.zeros(lanes, np.int64) if layer is None else np.clip(layer, 0, self.sizes[2] - 1)
        strides = (self.texel, self.pitch, self.pitch * self.sizes[1])
        for chosen in product(*axes):
            offset = rows.astype(np.int64) * strides[2]
            weight, inside = np.ones(lanes, np.float32), np.ones(lanes, bool)
            for stride, (index, part, within) in zip(strides, chosen, strict=False):
                offset, weight, inside = offset + index * stride, weight * part, inside & within
            yield Tap(offset, weight, inside)

    def _axis(self, axis: int, at: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """One texel or two along an axis: its index, its weight, and whether it lies inside."""
        size = self.sizes[axis]
        if at.dtype.kind == "i":  # an index
            return [self._placed(axis, at.astype(np.int64), np.ones(len(at), np.float32))]
        place = np.nan_to_num(at.astype(np.float64) * (size if self.normalised else 1))
        place = np.clip(place, -(2.0**40), 2.0**40)
        if not self.linear:
            return [self._placed(axis, np.floor(place).astype(np.int64), np.ones(len(at), np.float32))]
        first = np.floor(place - 0.5)
        weight = (np.floor((place - 0.5 - first) * WEIGHTS + 0.5) / WEIGHTS).astype(np.float32)
        index = first.astype(np.int64)
        return [self._placed(axis, index, 1 - weight), self._placed(axis, index + 1, weight)]

    def _placed(
        self, axis: int, index: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size, mode = self.sizes[axis], self.modes[axis]
        every = np.ones(len(index), bool)
        if self.plain or mode == BORDER:
            every = (index >= 0) & (index < size)
        elif mode == WRAP and self.normalised:
            index = index % size
        elif mode == MIRROR and self.normalised:
            index = index % (2 * size)
            index = np.minimum(index, 2 * size - 1 - index)
        return np.clip(index, 0, size - 1), weight, every

    def values(self, data: np.ndarray, tap: Tap) -> np.ndarray:
        """The channels of a tap's texels, (channels, lanes), in `data`, the texture's bytes; the border's outside."""
        numbers = data[tap.offset[:, None] + np.arange(self.texel)].view(self.number).T
        if self.as_floats and self.number.kind in "iu":
            numbers = np.maximum(numbers / np.float32(np.iinfo(self.number).max), np.float32(-1)).astype(
                np.float32
            )
        elif self.number.kind == "f":
            numbers = numbers.astype(np.float32)
        if tap.inside.all():
            return numbers
        outside = np.array(self.border[: self.channels]).astype(numbers.dtype)
        return np.where(
            tap.inside, numbers, np.zeros_like(outside)[:, None] if self.plain else outside[:, None]
        )
