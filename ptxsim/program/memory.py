"""Memory as the program's host sees it: allocations, copies, fills. Bytes from or to other memory of the host are
moved by the program itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..ground.memory import in_bytes
from . import errors
from .arena import DEVICE, OF_HOST, OF_KERNELS, REGISTERED, SEEN_BY_HOST, VARIABLE, Allocation
from .context import Context, Stopped
from .devices import MEMORY
from .late import Late
from .orders import DEVICE as WHOLE_DEVICE
from .orders import OTHER, STREAM, TO_DEVICE, Piece
from .sites import mark
from .wire import Answer

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS = range(1, 5)
"""Of cudaMemcpyKind; 0 is from host to host."""
NO_STREAM = 2**64 - 1
"""Of a copy that the host waits for."""
UNREGISTERED, OF_THE_HOST, OF_THE_DEVICE, MANAGED = range(4)
"""Of cudaMemoryType."""


class Row(NamedTuple):
    """Of a copy: where it goes to and comes from, and the allocations there."""

    to: int
    source: int
    target: Allocation | None
    origin: Allocation | None

    def move(self, width: int, late: Late | None, work: Piece) -> None:
        """`late`: who holds it back from the host, if anybody does."""
        assert self.target and self.origin
        if late:
            late.writes(work, self.target, self.to, width)
        self.target.at(self.to, width)[:] = self.origin.at(self.source, width)


class Memory:
    """Answers to what a program asks about memory."""

    def __init__(self, context: Context) -> None:
        self.context, self.arena = context, context.arena

    def leaks(self) -> list[tuple[int, int]]:
        """Bytes and site of what was never freed."""
        return [(each.size, each.site) for each in self._own()]

    def allocate(self, size: int, kind: int, site: int) -> Answer:
        self.context.see(site)
        if self.context.lost:
            return Answer(self.context.lost, (0,))
        fits = self.arena.used + size <= MEMORY
        made = self.arena.allocate(size, kind, site) if fits else None
        return Answer(0, (made.address,)) if made else Answer(errors.MEMORY_ALLOCATION, (0,))

    def release(self, address: int, of_host: int, in_stream: int, site: int) -> Answer:
        self.context.see(site)
        found = self.arena.find(address)
        why = self._why_no_release(found, address, bool(of_host))
        if why or found is None:
            call = "cudaFreeHost" if of_host else "cudaFree"
            return self.context.refused(call, errors.INVALID_VALUE, why, site, (0,))
        self.arena.release(found, site)
        if not in_stream:
            call = ("cudaFreeHost" if of_host else "cudaFree") + f" (at {mark(site)})" * bool(site)
            self.context.seen_only(call, self.context.host_waits(WHOLE_DEVICE, 0))
        return Answer(0, (found.size,))

    def register_host(self, address: int, size: int, first: int, pages: int, site: int) -> Answer:
        self.context.see(site)
        if self.arena.find(address):
            return Answer(errors.ALREADY_REGISTERED, (0,))
        made = self.arena.register(address, size, first, pages, site)
        return Answer(0, (made[1],)) if made else Answer(errors.MEMORY_ALLOCATION, (0,))

    def unregister_host(self, address: int) -> Answer:
        found = self.arena.find(address)
        if found is None or found.kind != REGISTERED:
            return Answer(errors.NOT_REGISTERED)
        self.context.late.show_all()
        self.arena.release(found)
        return Answer()

    def pointer(self, address: int) -> Answer:
        found = self.arena.find(address)
        if found is None:
            return Answer(0, (UNREGISTERED,))
        kinds = {DEVICE: OF_THE_DEVICE, VARIABLE: OF_THE_DEVICE} | dict.fromkeys(OF_HOST, OF_THE_HOST)
        return Answer(0, (kinds.get(found.kind, MANAGED),))

    def range(self, address: int) -> Answer:
        """The allocation, or the variable, in which it lies: where that begins, and its bytes."""
        found = self.arena.find(address)
        return Answer(0, (found.address, found.size)) if found else Answer(errors.NOT_FOUND)

    def memory_left(self) -> Answer:
        return Answer(0, (MEMORY - self.arena.used, MEMORY))

    def copy(
        self,
        to: int,
        to_pitch: int,
        source: int,
        pitch: int,
        width: int,
        height: int,
        kind: int,
        stream: int,
        site: int,
    ) -> Answer:
        """Rows of `width` bytes. With 1 where they are moved already, with 0 where the program does it."""
        self.context.see(site)
        if self.context.lost:
            return Answer(self.context.lost)
        orders, waits = self.context.orders, stream == NO_STREAM
        what = TO_DEVICE if self._of_device(to) and not self._of_device(source) else OTHER
        work = orders.begin(0 if waits else stream, "cudaMemcpy" + "Async" * (not waits), site, what)
        rows = [
            Row(here, there, self.arena.find(here), self.arena.find(there))
            for here, there in ((to + n * to_pitch, source + n * pitch) for n in range(height))
        ]
        for row in rows:
            why = self._why_no_end(
                "destination", row.to, row.target, width, kind, (HOST_TO_DEVICE, DEVICE_TO_DEVICE)
            ) or self._why_no_end(
                "source", row.source, row.origin, width, kind, (DEVICE_TO_HOST, DEVICE_TO_DEVICE)
            )
            if why:
                return self.context.refused("cudaMemcpy", errors.INVALID_VALUE, why, site)
        for row in rows:
            if row.target:
                row.target.same_written(row.to, row.origin, row.source, width)
            if orders.needed:
                orders.range(work, "reads", row.origin, row.source, width)
                orders.range(work, "writes", row.target, row.to, width)
        return Answer(0, (self._moved(rows, width, work, waits),))

    def _moved(self, rows: list[Row], width: int, work: Piece, waits: bool) -> bool:
        """Move the bytes, where both ends are memory of CUDA. A copy out to ordinary memory, or from host to host,
        keeps the host waiting."""
        late, target, origin = self.context.late, rows[0].target, rows[0].origin
        if waits:
            self.context.host_waits(STREAM, 0)
        elif target is None or (target.shared and (origin is None or origin.kind in OF_HOST)):
            waits = True
            late.show(work.done)
        if target is None or origin is None:
            return False
        with late.device():
            for row in rows:
                row.move(width, None if waits else late, work)
        return True

    def fill(
        self,
        to: int,
        pitch: int,
        width: int,
        height: int,
        stream: int,
        site: int,
        value: int = 0,
        element: int = 1,
    ) -> Answer:
        """Rows of `width` bytes; in each `element` of them the lowest bytes of `value`."""
        self.context.see(site)
        if self.context.lost:
            return Answer(self.context.lost)
        orders, waits = self.context.orders, stream == NO_STREAM
        work = orders.begin(0 if waits else stream, "cudaMemset", site)
        pattern = np.frombuffer(value.to_bytes(8, "little")[:element], np.uint8)
        with self.context.late.device():
            for row in range(height):
                here = to + row * pitch
                target = self.arena.find(here)
                why = self._why_no_end(
                    "destination", here, target, width, DEVICE_TO_DEVICE, (DEVICE_TO_DEVICE,)
                )
                if why or target is None:
                    return self.context.refused("cudaMemset", errors.INVALID_VALUE, why, site)
                target.note_written(here, width)
                if orders.needed:
                    orders.range(work, "writes", target, here, width)
                self.context.late.writes(work, target, here, width)
                target.at(here, width).reshape(-1, element)[:] = pattern
        if waits and target and target.shared:
            self.context.host_waits(STREAM, 0)
        return Answer()

    def reset(self) -> Answer:
        """cudaDeviceReset."""
        self.context.lost = 0
        self.context.seen_only("cudaDeviceReset", self.context.host_waits(WHOLE_DEVICE, 0))
        for each in self._own():
            self.arena.release(each)
        return Answer()

    def touched(self, address: int) -> Answer:
        """The host reads or writes memory of the device: it ends with a segmentation fault."""
        found = self.arena.near(address)
        if found is None:
            raise Stopped("the program used an address of device memory that nothing has")
        made = f", which was allocated at {mark(found.site)}" if found.site else ""
        gone = f" and freed at {mark(found.freed)}" if found.freed else ""
        why = (
            f"its own code reads or writes byte {address - found.address:,} of memory of the device{made}{gone}. "
            "That needs cudaMemcpy, or cudaMallocManaged"
        )
        self.context.findings.refuse("the host", "a segmentation fault", why, 0)
        return Answer()

    def _of_device(self, address: int) -> bool:
        found = self.arena.find(address)
        return found is not None and found.kind in (DEVICE, VARIABLE)

    def _own(self) -> list[Allocation]:
        """What the program allocated and has not freed."""
        return [each for each in self.arena.live if each.kind not in (VARIABLE, REGISTERED, OF_KERNELS)]

    def _why_no_release(self, found: Allocation | None, address: int, of_host: bool) -> str:
        if found is None:
            return self._gone(address) or "no allocation of CUDA begins there"
        if found.address != address:
            return f"the pointer is {address - found.address:,} bytes behind the begin of its allocation"
        if (found.kind in OF_HOST) == of_host and found.kind not in (REGISTERED, VARIABLE, OF_KERNELS):
            return ""
        return (
            "this is memory of the device: cudaFree"
            if of_host
            else "this is memory of the host: cudaFreeHost"
        )

    def _why_no_end(
        self,
        what: str,
        address: int,
        found: Allocation | None,
        size: int,
        kind: int,
        of_device: tuple[int, ...],
    ) -> str:
        """Why the `what` of a copy of this kind cannot be there; "" if it can. `of_device`: kinds that want memory of
        the device."""
        if found is None:
            gone = self._gone(address)
            return gone or (f"the {what} is no memory of the device" if kind in of_device else "")
        if kind < BY_ADDRESS and kind not in of_device and found.kind not in SEEN_BY_HOST:
            return f"the {what} is memory of the device, and the kind of the copy says that it is the host's"
        if found.has(address, size):
            return ""
        made = f", which was allocated at {mark(found.site)}" if found.site else ""
        first = f" from byte {address - found.address:,} on" if address > found.address else ""
        return f"{in_bytes(size)}{first} go{'es' * (size == 1)} beyond the {what} of {in_bytes(found.size)}{made}"

    def _gone(self, address: int) -> str:
        """That the memory there was freed."""
        gone = self.arena.near(address)
        if gone is None or gone.freed is None:
            return ""
        return "the memory was freed before" + (f", at {mark(gone.freed)}" if gone.freed else "")
