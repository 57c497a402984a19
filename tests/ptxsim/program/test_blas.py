"""Products of matrices by cuBLAS, made on the host."""

import struct

import numpy as np
import pytest

from ptxsim.__main__ import main
from ptxsim.program.blas import _bf16
from ptxsim.program.orders import DEVICE as WHOLE_DEVICE
from tests.ptxsim.program.harness import Program
from tests.ptxsim.program.test_programs import CU

NAMES = (
    *(
        "Sgemm",
        "Sgemv, row by row",
        "Dgemv, turned",
        "Dgemm",
        "Hgemm",
        "GemmEx of half",
        "GemmEx of bf16",
        "GemmEx of int8",
    ),
    *("SgemmStridedBatched", "SgemmBatched"),
)
FLOAT = 0


def test_a_program_that_multiplies_by_cublas(nvcc, monkeypatch, capfd):
    monkeypatch.chdir(CU)
    assert main(["run", "blas.cu", "-D", "TOO_SMALL"]) == 1
    printed, report = capfd.readouterr()
    assert printed.splitlines()[:-1] == [f"{name} 0 right" for name in NAMES]
    assert printed.splitlines()[-1].startswith("too small 13 ")
    assert report.splitlines()[0] == (
        "blas.cu:108: cublasSgemm gives cudaErrorInvalidValue: A takes 6,000 bytes and goes beyond its allocation of "
        "120 bytes, which was allocated at blas.cu:32"
    )


class Products(Program):
    def gemm(self, a: int, b: int, c: int, size: int, alpha=1.0, beta=0.0, stream=0, times=1) -> int:
        """Of square matrices."""
        each = (FLOAT, size, size * size)
        factors = struct.unpack("<2Q", struct.pack("<2d", alpha, beta))
        how = (stream, 0, 0, 0, *(3 * [size]), times, *factors, a, *each, b, *each, c, *each)
        return self.ask("gemm", *how, data=b"cublasSgemm").error

    def floats(self, address: int, count: int) -> np.ndarray:
        return self.words(address, count).view(np.float32)


def test_what_is_there_is_not_read_where_it_does_not_count():
    program = Products()
    a, c = program.filled(64), program.allocate(64)
    program.floats(a, 16)[:] = np.arange(16)
    program.floats(c, 16)[:] = np.nan
    assert program.gemm(a, a, c, 4) == 0
    square = np.arange(16).reshape(4, 4).T
    assert np.array_equal(program.floats(c, 16).reshape(4, 4).T, square @ square)


def test_a_product_counts_as_written_and_another_stream_that_reads_it_is_a_conflict():
    program = Products()
    program.ask("stream", 5, 1)
    a, c, copied = program.filled(64), program.allocate(64), program.allocate(64)
    program.ask("wait", WHOLE_DEVICE, 0)
    assert program.gemm(a, a, c, 4, stream=5) == 0
    assert program.launch(copied, c, 16).error == 0
    assert program.kinds() == []
    (conflict,) = program.conflicts()
    assert "which cublasSgemm in stream 1 writes" in conflict


@pytest.mark.parametrize("which", range(3))
def test_memory_that_is_not_there(which):
    program = Products()
    places = [program.filled(64) for _ in range(3)]
    places[which] = 4096
    assert program.gemm(*places, 4)
    ((call, error, why),) = program.refused()
    assert (call, error, why) == (
        "cublasSgemm",
        "cudaErrorInvalidValue",
        f"{'ABC'[which]} is no memory of the device",
    )


def test_the_second_of_two_that_has_no_room():
    program = Products()
    assert program.gemm(program.filled(128), program.filled(128), program.filled(64), 4, times=2)
    ((_, _, why),) = program.refused()
    assert why == "C of product 2 is no memory of the device"


def test_rounding_to_bf16():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, np.inf, -0.0, np.nan], np.float32)
    assert _bf16(values).tolist() == [0x3F80, 0x3F80, 0x3F82, 0x7F80, 0x8000, 0x7FFF]
