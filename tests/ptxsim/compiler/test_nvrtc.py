"""CUDA C++ to PTX: options, errors, names and resource reports."""

import pytest

from ptxsim.compiler import nvrtc

SCALE = """
// void scale(int wrong) {
extern "C" __global__ void scale(float* out, const float* in, /* a, b */ float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
"""
TEMPLATE = """template <typename T, int N>
__global__ void fill(T *out, T value[]) { out[threadIdx.x] = value[N]; }"""


def test_default_options():
    ptx = nvrtc.compile_ptx(SCALE).ptx
    assert ".target sm_80" in ptx and ".visible .entry scale(" in ptx
    assert "mul.ftz.f32" in ptx
    assert ".loc" in ptx and 'kernel.cu"' in ptx


@pytest.mark.parametrize("option", ["-arch=sm_90", "-arch=compute_90", "--gpu-architecture=sm_90"])
def test_arch_option(option):
    assert ".target sm_90" in nvrtc.compile_ptx(SCALE, options=(option,)).ptx


def test_ftz_can_be_turned_off():
    assert "mul.f32" in nvrtc.compile_ptx(SCALE, options=("-ftz=false",)).ptx


def test_compiled_once():
    assert nvrtc.compile_ptx(SCALE).ptx is nvrtc.compile_ptx(SCALE, options=[]).ptx


HEADERS = ["cuda_fp16.h", "cuda_bf16.h", "mma.h", "cuda_pipeline.h", "cuda/std/cstdint"]


@pytest.mark.parametrize("header", HEADERS)
def test_cuda_headers_are_found(header):
    assert "fill" in nvrtc.compile_ptx(f"#include <{header}>\n{SCALE.replace('scale', 'fill')}").ptx


def test_error_shows_line_and_source():
    with pytest.raises(nvrtc.CompileError) as error:
        nvrtc.compile_ptx(SCALE.replace("factor *", "facto *"))
    assert 'kernel.cu(5): error: identifier "facto" is undefined' in str(error.value)
    assert "if (i < n) out[i] = facto * in[i];" in str(error.value)
    assert "detected in the compilation" not in str(error.value)


@pytest.mark.parametrize("option", ["-G", "--device-debug"])
def test_device_debug_is_refused(option):
    with pytest.raises(nvrtc.CompileError, match="not supported"):
        nvrtc.compile_ptx(SCALE, options=(option,))


def test_unknown_option_names_itself():
    with pytest.raises(nvrtc.CompileError, match="no-such-option"):
        nvrtc.compile_ptx(SCALE, options=("--no-such-option",))


def test_name_expressions():
    compiled = nvrtc.compile_ptx(TEMPLATE, ["fill<float, 3>", "fill<int, 1>"])
    assert set(compiled.lowered) == {"fill<float, 3>", "fill<int, 1>"}
    assert all(f".entry {mangled}(" in compiled.ptx for mangled in compiled.lowered.values())


def test_unknown_name_expression():
    with pytest.raises(nvrtc.CompileError):
        nvrtc.compile_ptx(SCALE, ["no_such_kernel"])


def test_resources():
    shared = """extern "C" __global__ void flip(float* data) {
        __shared__ float tile[256];
        tile[threadIdx.x] = data[threadIdx.x];
        __syncthreads();
        data[threadIdx.x] = tile[255 - threadIdx.x];
    }"""
    found = nvrtc.resources(shared + SCALE, "flip")
    assert 4 <= found.registers <= 32
    assert found.static_shared >= 1024 and found.barriers == 1
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)
    assert nvrtc.resources(shared + SCALE, "scale", arch="sm_80").static_shared == 0


def test_resources_of_a_spilling_kernel():
    source = """extern "C" __global__ void spill(float* data) {
        float values[64];
        #pragma unroll
        for (int i = 0; i < 64; i++) values[i] = data[i * 32];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 64; i++) data[i * 32] = values[63 - i] * values[i];
    }"""
    found = nvrtc.resources(source, "spill", options=("--maxrregcount=24",))
    assert found.registers <= 24 and found.spill_stores > 0 and found.spill_loads > 0


def test_resources_of_a_template():
    name = "fill<float, 3>"
    entry = nvrtc.compile_ptx(TEMPLATE, [name]).lowered[name]
    assert nvrtc.resources(TEMPLATE, entry, name_expressions=[name]).registers > 0


def test_resources_of_an_unknown_kernel():
    with pytest.raises(ValueError, match="kernels in this source: scale"):
        nvrtc.resources(SCALE, "nobody")


def test_too_much_static_shared_memory():
    source = """extern "C" __global__ void big(float* data) {
        __shared__ float tile[16384];
        tile[threadIdx.x] = data[threadIdx.x]; __syncthreads(); data[threadIdx.x] = tile[threadIdx.x + 1];
    }"""
    with pytest.raises(nvrtc.CompileError, match="too much shared data"):
        nvrtc.resources(source, "big")


def test_missing_library_says_what_to_do(monkeypatch):
    import cuda.bindings.nvrtc

    def not_found():
        raise RuntimeError("no libnvrtc")

    monkeypatch.setattr(cuda.bindings.nvrtc, "nvrtcVersion", not_found)
    nvrtc._loaded.cache_clear()
    with pytest.raises(nvrtc.NvrtcMissing, match="pip install"):
        nvrtc.version()
    nvrtc._loaded.cache_clear()
