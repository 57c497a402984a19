import cupy as cp

kernel = cp.RawKernel(
    r"""
extern "C" __global__ void reverse(float* x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    x[t] = s[n - 1 - t];
}
""",
    "reverse",
)
x = cp.arange(64, dtype=cp.float32)
kernel((1,), (64,), (x, cp.int32(64)))
print(x)
