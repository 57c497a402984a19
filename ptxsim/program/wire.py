"""Questions of the program and our answers: names, numbers of 64 bits, and bytes, on a socket (shim/talk.cpp)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

_HEAD = struct.Struct("<QQQ")


class Question(NamedTuple):
    """`what` the program asks for, with numbers, and `data`."""

    what: str
    numbers: tuple[int, ...]
    data: bytes


class Answer(NamedTuple):
    """CUDA's number of an error, 0 for none; numbers, and `data`."""

    error: int = 0
    numbers: Sequence[int] = ()
    data: bytes = b""


STOP = 2**64 - 1
"""An error that tells the program to end."""


def receive(channel: socket.socket) -> Question | None:
    """The next question; None when the program has ended."""
    head = _exactly(channel, _HEAD.size)
    if head is None:
        return None
    name, count, size = _HEAD.unpack(head)
    rest = _exactly(channel, name + 8 * count + size)
    if rest is None:
        return None
    numbers = struct.unpack_from(f"<{count}Q", rest, name)
    return Question(rest[:name].decode(), numbers, rest[name + 8 * count :])


def send(channel: socket.socket, answer: Answer) -> None:
    numbers = [number & (2**64 - 1) for number in answer.numbers]
    head = _HEAD.pack(answer.error, len(numbers), len(answer.data))
    channel.sendall(head + struct.pack(f"<{len(numbers)}Q", *numbers) + answer.data)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    """So many bytes; None if the other end closes before."""
    parts = bytearray()
    while len(parts) < size:
        try:
            got = channel.recv(min(size - len(parts), 1 << 20))
        except ConnectionResetError:
            return None
        if not got:
            return None
        parts += got
    return bytes(parts)
