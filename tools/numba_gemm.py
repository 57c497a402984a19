"""The 64 x 64 x 16 tiled GEMM of lesson 01 for numba-cuda's simulator; `make bench` runs it for comparison.

It prints the seconds of one launch: NUMBA_ENABLE_CUDASIM=1 python tools/numba_gemm.py 64
"""

import sys
import time

import numpy as np
from numba import cuda, float32

TM = TN = 64
TK = 16
THREADS = 256


@cuda.jit
def register_tile(A, B, C, K):
    """C = A @ B.T; a block computes 64 x 64 elements, a thread 4 x 4."""
    As = cuda.shared.array((TK, TM), float32)
    Bs = cuda.shared.array((TK, TN), float32)
    acc = cuda.local.array((4, 4), float32)
    t = cuda.threadIdx.x
    m, n = 4 * (t % 16), 4 * (t // 16)
    block_m, block_n = cuda.blockIdx.x * TM, cuda.blockIdx.y * TN
    for j in range(4):
        for i in range(4):
            acc[j, i] = 0

    for k_tile in range(0, K, TK):
        for i in range(t, TK * TM, THREADS):
            As[i // TM, i % TM] = A[block_m + i % TM, k_tile + i // TM]
            Bs[i // TN, i % TN] = B[block_n + i % TN, k_tile + i // TN]
        cuda.syncthreads()
        for k in range(TK):
            for j in range(4):
                b = Bs[k, n + j]
                for i in range(4):
                    acc[j, i] += As[k, m + i] * b
        cuda.syncthreads()

    for j in range(4):
        for i in range(4):
            C[block_m + m + i, block_n + n + j] = acc[j, i]


def main(size: int) -> None:
    random = np.random.default_rng(0)
    A, B = (np.asfortranarray(random.integers(-4, 5, (size, size)).astype(np.float32)) for _ in "AB")
    C = np.full((size, size), np.nan, np.float32, order="F")
    start = time.perf_counter()
    register_tile[(size // TM, size // TN), THREADS](A, B, C, size)
    seconds = time.perf_counter() - start
    if not np.array_equal(C, A @ B.T):
        raise SystemExit("numba-cuda's simulator gave a wrong result")
    print(seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]))
