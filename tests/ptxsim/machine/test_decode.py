"""What is known of a program before it runs."""

import ptxsim
from ptxsim.ptx.provenance import written_by
from tests.ptxsim.small_kernels import source_of


def code_of(body):
    return ptxsim.compile(source_of(body), "k").code


def test_an_array_is_written_by_accesses_to_global_memory_alone():
    code = code_of("__shared__ int tile[32]; tile[t] = in[t]; __syncthreads(); out[t] = tile[31 - t];")
    assert [code.writes(number) for number in range(2)] == [True, False]


def test_a_store_to_an_address_that_may_be_any_writes_all_arrays():
    code = code_of("int* at = ((int**)in)[t]; *at = 1;")
    assert all(code.writes(number) for number in range(2))


def test_what_sleeps_writes_no_register():
    instructions = code_of("__nanosleep(in[t]); out[t] = 1;").program.instructions
    (sleep,) = [each for each in instructions if each.opcode.root == "nanosleep"]
    assert written_by(sleep) == []
