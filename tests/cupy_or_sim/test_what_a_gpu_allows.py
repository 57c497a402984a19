"""What a launch may ask of the GPU in use."""

from types import SimpleNamespace

from cupy_or_sim import device, limits
from ptxsim.gpus import H100


def test_the_simulator_keeps_to_an_h100(monkeypatch):
    monkeypatch.setattr(device, "backend", lambda: "simulator")
    assert limits.this_gpu() is H100


def test_a_gpu_says_its_own_limits(monkeypatch):
    attributes = {
        "MultiProcessorCount": 108,
        "MaxThreadsPerMultiProcessor": 2048,
        "MaxBlocksPerMultiprocessor": 32,
        "MaxSharedMemoryPerMultiprocessor": 167936,
        "MaxSharedMemoryPerBlockOptin": 166912,
        "ReservedSharedMemoryPerBlock": 1024,
        "L2CacheSize": 41943040,
    }
    gpu = SimpleNamespace(id=0, attributes=attributes, compute_capability="80")
    runtime = SimpleNamespace(getDeviceProperties=lambda number: {"name": b"NVIDIA A100"})
    cp = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: gpu, runtime=runtime))
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", cp)
    said = limits.this_gpu()
    assert (said.name, said.arch, said.sms, said.warps, said.blocks) == ("NVIDIA A100", "sm_80", 108, 64, 32)
    assert (said.shared, said.shared_block, said.reserved, said.l2) == (167936, 166912, 1024, 41943040)
