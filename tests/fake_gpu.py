"""A CuPy that is not there, on a GPU with the limits that one names.

`FakeCupy` runs the measuring code on a clock of its own. Launches and event records go into one queue. The host takes
10 microseconds for each call; the GPU runs the queue in order, 2 cycles per nanosecond. So a test sees whether a gap of
the host got into a time. `machine` puts a whole GPU under the course, for a notebook.
"""

import sys
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np

import cupy_or_sim
from course_lib.check import verdict
from course_lib.check.product import Product as Problem
from course_lib.measure import records
from course_lib.timelines import marks
from cupy_or_sim import cupy_on_numpy, device, power, timing
from cupy_or_sim.simulate import launch_simulated
from ptxsim.front.occupancy import refusal
from ptxsim.gpus import H100, SHARED_BY_DEFAULT, WARP, Gpu, find_gpu

# Under these names their packages have functions.
matmul, many, packed, ready, tune, warm, waves = map(
    import_module,
    (
        *(f"matmul.{name}" for name in ("matmul", "many", "packed", "ready", "tune", "warm")),
        "course_lib.instruments.waves",
    ),
)

HOST_US = 10.0
HANDLE = 7
"""cuBLAS's."""
RTX_3090 = replace(find_gpu("RTX 3090"), driver_name="NVIDIA GeForce RTX 3090")
RTX_5090 = replace(
    RTX_3090, name="RTX 5090", arch="sm_120", sms=170, blocks=24, driver_name="NVIDIA GeForce RTX 5090"
)
T4 = replace(find_gpu("T4"), driver_name="Tesla T4")
SIMULATED = 4 << 20
"""Bytes: a launch whose arrays are larger has no results; only the GPU's limits are tried."""


class CUDADriverError(RuntimeError):
    """As CuPy's: it says that something was wrong, and not what."""


class FakeCupy:
    """`durations` is {kernel name: microseconds}."""

    __version__ = "14.2.0"

    def __init__(self, durations=None, on_launch=None, gpu: Gpu = H100):
        self.durations, self.on_launch = durations or {}, on_launch
        self.host = self.gpu = 0.0
        self.launched = []
        self.cycles_per_us = 2000
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
            num_regs, shared_size_bytes, _most = 64, 0, SHARED_BY_DEFAULT

            def __init__(self, code, name, options=()):
                self.code, self.name, self.options = code, name, options

            @property
            def max_dynamic_shared_size_bytes(self):
                return self._most

            @max_dynamic_shared_size_bytes.setter
            def max_dynamic_shared_size_bytes(self, size):
                if size + self.shared_size_bytes > gpu.shared_block:
                    raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
                self._most = size

            def __call__(self, grid, block, args, shared_mem=0, dependent=False):
                shared = self.shared_size_bytes + shared_mem
                if shared_mem > self._most or refusal(gpu, int(np.prod(block)), self.num_regs, shared):
                    raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
                fake.run(
                    self.name, args[0] / 2000 if self.name == "spin" else fake.durations.get(self.name, 1.0)
                )
                fake.launched.append((self.name, grid, block, shared_mem, self.options))
                if self.name == "read_clocks":  # every second SM number, each with a count of its own
                    args[0][: 2 * gpu.sms : 2] = fake.gpu * fake.cycles_per_us + 1e6 * np.arange(
                        1, gpu.sms + 1
                    )
                if self.name == "clock_rate":
                    args[0][:] = 200_000, 100_000  # cycles, nanoseconds
                if fake.on_launch:
                    fake.on_launch(self, args)

        major, minor = divmod(int(gpu.arch.removeprefix("sm_")), 10)
        attributes = {
            "MultiProcessorCount": gpu.sms,
            "MaxThreadsPerMultiProcessor": gpu.warps * WARP,
            "MaxBlocksPerMultiprocessor": gpu.blocks,
            "MaxSharedMemoryPerMultiprocessor": gpu.shared,
            "MaxSharedMemoryPerBlockOptin": gpu.shared_block,
            "ReservedSharedMemoryPerBlock": gpu.reserved,
            "L2CacheSize": gpu.l2,
        }
        self.RawKernel = RawKernel
        self.cuda = SimpleNamespace(
            is_available=lambda: True,
            Event=Event,
            Stream=lambda **options: nullcontext(),
            get_elapsed_time=lambda begin, end: (end.time - begin.time) / 1000,
            Device=lambda: SimpleNamespace(
                id=0, synchronize=self.wait, attributes=attributes, compute_capability=f"{major}{minor}"
            ),
            runtime=SimpleNamespace(
                getDeviceProperties=lambda _: {
                    "name": gpu.driver_name.encode(),
                    "major": major,
                    "minor": minor,
                },
                getDevice=lambda: 0,
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
    timing._helper.cache_clear()
    monkeypatch.setattr(timing, "PAUSE", 0)
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", fake, raising=False)
    library = SimpleNamespace(getVersion=lambda handle: {HANDLE: 130201}[handle])
    monkeypatch.setitem(sys.modules, "cupy.cuda.device", SimpleNamespace(get_cublas_handle=lambda: HANDLE))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", SimpleNamespace(cublas=library))
    return fake


class Array(np.ndarray):
    """An array "on the GPU", as far as the library asks where it lies."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data, device_id=0)


class Stream(cupy_on_numpy.Stream):
    """One that no graph is made of."""

    def is_capturing(self):
        return False


class SimulatedCupy(FakeCupy):
    """A CuPy whose small launches have results: those of the simulator."""

    ndarray, asnumpy = Array, staticmethod(cupy_on_numpy.asnumpy)

    def __init__(self, gpu: Gpu):
        super().__init__(on_launch=self.simulated, gpu=gpu)
        limited, stand_in = self.RawKernel, cupy_on_numpy.RawKernel

        class RawKernel(limited, stand_in):
            num_regs, shared_size_bytes = stand_in.num_regs, stand_in.shared_size_bytes

        class RawModule(cupy_on_numpy.RawModule):
            def get_function(self, name):
                kernel = RawKernel(self.code, name, self.options)
                kernel.name_expressions = self.name_expressions
                return kernel

        self.RawKernel, self.RawModule = RawKernel, RawModule
        self.cuda.Stream = lambda **options: Stream()
        self.cuda.get_current_stream = self.cuda.Stream

    def simulated(self, kernel, args):
        name, grid, block, shared_mem, _ = self.launched[-1]
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        if name in ("spin", "clock_rate"):
            return
        if max((array.nbytes for array in arrays), default=0) <= SIMULATED:
            launch_simulated(kernel, grid, block, args, shared_mem)
        elif arrays[-1].dtype == np.int64:  # lesson 06's notes of one piece of work: SM, begin, end
            arrays[-1].flat[[0, 3, 4, 5]] = 1, 0, 0, 1000

    def __getattr__(self, name):
        found = getattr(cupy_on_numpy, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args, **options):
            made = found(*args, **options)
            return made.view(Array) if type(made) is np.ndarray else made

        return call


def forget() -> None:
    """What the library keeps of the GPU in use; to be called before and behind `machine`."""
    for cached in (
        device.backend, device.machine, timing._helper, timing.capability, matmul.here, ready.sms, matmul.planned,
        ready.kernel_of, warm.cupy,
    ):  # fmt: skip
        cached.cache_clear()


def machine(monkeypatch, gpu: Gpu) -> SimulatedCupy:
    """Put this GPU under the whole course. Where a result would need a GPU (large products, cuBLAS, marks), only the
    launches are tried, against the GPU's limits; what a check simulates first is left to the notebooks' own tests."""
    fake = SimulatedCupy(gpu)
    monkeypatch.setenv("COURSE_BACKEND", "cupy")
    monkeypatch.setitem(sys.modules, "cupy", fake)
    of_cupy = SimpleNamespace(gemm=lambda a, b, A, B: fake.zeros((A.shape[0], B.shape[0]), A.dtype))
    monkeypatch.setitem(sys.modules, "cupy.cublas", of_cupy)
    forget()

    def cublas(gemm, C=None):
        return lambda: fake.run("cuBLAS", 1.0)

    def check_here(job, inputs, words, limit, *causes):
        job.gemm.launched(job.kernel, inputs, job.launch)

    def marked(job):
        job.gemm.prepare(job.kernel, job.gemm.inputs, job.launch)[1]()
        return records.find("timelines", records.kernel_key(job)) or {}

    def noted(job):
        job.gemm.prepare(job.kernel, job.gemm.inputs, job.launch)[1]()
        return np.array([[0, 1000, 0, 2000, 0]])

    def zeros_if_large(draw):
        def drawn(gemm, seed):
            large = gemm.M * gemm.N * gemm.K > 1024**3
            return gemm.here(gemm._pair(np.zeros)) if large else draw(gemm, seed)

        return drawn

    def launched(kernel, grid, block, shared_mem, args, dependent=False):
        return packed._simulated(kernel, grid, block, shared_mem, args, dependent)

    for name in "random", "integers":
        monkeypatch.setattr(Problem, name, zeros_if_large(getattr(Problem, name)))
    monkeypatch.setattr(warm, "_known", {})  # calls of another GPU
    # There is no driver that would take packed arguments.
    monkeypatch.setattr(ready, "packed", launched)
    monkeypatch.setattr(
        many,
        "packed_table",
        lambda *form: launched(*form[:4], (packed.Nth(0, lambda table: table), *form[4])),
    )
    monkeypatch.setattr(timing, "PAUSE", 0)
    monkeypatch.setattr(timing, "cublas", cublas)
    monkeypatch.setattr(cupy_or_sim, "cublas", cublas)
    monkeypatch.setattr(power, "sustained", lambda *args: {})
    monkeypatch.setattr(verdict, "_check_here", check_here)
    monkeypatch.setattr(marks, "measure", marked)
    monkeypatch.setattr(waves, "noted", noted)
    monkeypatch.setattr(tune, "device", SimpleNamespace(backend=lambda: "simulator"))
    return fake
