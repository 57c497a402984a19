"""A CuPy that is not there: enough of its calls to run the measuring code, on a clock of its own.

Launches and event records go into one queue. The host takes 10 microseconds for each call; the GPU runs the
queue in order, 2 cycles per nanosecond. So a test sees whether a gap of the host got into a time.
"""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

HOST_US = 10.0


class FakeCupy:
    """`durations` is {kernel name: microseconds}."""

    __version__ = "14.2.0"

    def __init__(self, durations, on_launch=None):
        self.durations, self.on_launch = durations, on_launch
        self.host = self.gpu = 0.0
        self.launched = []
        fake = self

        class Event:
            def record(self):
                fake.host += HOST_US
                fake.gpu = self.time = max(fake.gpu, fake.host)

            @property
            def done(self):
                return self.time <= fake.host

            def synchronize(self):
                fake.host = max(fake.host, self.time)

        class RawKernel:
            num_regs, max_dynamic_shared_size_bytes = 64, 48 * 1024

            def __init__(self, code, name, options=()):
                self.code, self.name, self.options = code, name, options

            def __call__(self, grid, block, args, shared_mem=0):
                fake.run(
                    self.name, args[0] / 2000 if self.name == "spin" else fake.durations.get(self.name, 1.0)
                )
                fake.launched.append((self.name, grid, block, shared_mem, self.options))
                if self.name == "clock_rate":
                    args[0][:] = 200_000, 100_000  # cycles, nanoseconds
                if fake.on_launch:
                    fake.on_launch(self, args)

        self.RawKernel = RawKernel
        self.cuda = SimpleNamespace(
            Event=Event,
            Stream=lambda **options: nullcontext(),
            get_elapsed_time=lambda begin, end: (end.time - begin.time) / 1000,
            Device=lambda: SimpleNamespace(
                id=0, synchronize=self.wait, attributes={"MultiProcessorCount": 132}
            ),
            runtime=SimpleNamespace(
                getDeviceProperties=lambda _: {"name": b"NVIDIA H100 80GB HBM3"},
                runtimeGetVersion=lambda: 13020,
                deviceGetPCIBusId=lambda _: "0000:01:00.0",
            ),
            nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
        )

    def run(self, name, duration):
        self.host += HOST_US
        self.gpu = max(self.gpu, self.host) + duration

    def wait(self):
        self.host = max(self.host, self.gpu)

    def __getattr__(self, name):
        return getattr(np, name)

    def asnumpy(self, array):
        return np.array(array)


def install(monkeypatch, fake):
    """Make the library believe that `fake` is CuPy on a GPU."""
    from course_lib.gpu import device, timing

    timing._helper.cache_clear()
    monkeypatch.setattr(timing, "PAUSE", 0)
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", fake, raising=False)
    return fake
