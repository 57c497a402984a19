"""Programs with several threads."""

from ptxsim import program

TEXT = """#include <atomic>
#include <thread>
#include <vector>
__global__ void add(int* x, int a, int b) { atomicAdd(x, a + b); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    *x = 0;
    std::atomic<int> there{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] { ++there; while (there < 8) { } add<<<1, 1>>>(x, 1, 2); });
    for (auto& each : threads) each.join();
    cudaDeviceSynchronize();
    int sum = *x;
    cudaFree(x);
    return sum != 24;
}
"""


def test_threads_that_launch_a_kernel_for_the_first_time_at_once(nvcc, tmp_path):
    (tmp_path / "threads.cu").write_text(TEXT)
    report = program.run(tmp_path / "threads.cu")
    assert not report.stopped and report.returned == 0 and len(report.launches) == 8, report
