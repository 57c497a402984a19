"""A launch that leaves all memory as it was does not run again, until somebody writes: asked without nvcc."""

import numpy as np
import pytest

from ptxsim.program.arena import DEVICE, HOST, MANAGED
from ptxsim.program.memory import NO_STREAM
from tests.ptxsim.program.harness import PTX, Program, fat_binary

TIMES, COUNT, BYTES = 20, 64, 256
ON_THE_STACK = 0x7FFF_0000_1000
COUNTS = "    atom.global.add.u32 %r3, [calls], 1;\n"


@pytest.fixture
def program():
    """With the harness's kernel, which counts its calls no more."""
    assert COUNTS in PTX
    made = Program()
    (module,) = made.ask("module", 0, data=fat_binary(PTX.replace(COUNTS, ""))).numbers
    (made.kernel,) = made.ask("function", module, data=b"copy").numbers
    yield made
    made.context.arena.close()


def ran(program) -> tuple[int, int]:
    """Launches that ran, and that need not."""
    report = program.findings.report([], "", 0, 0)
    return len(report.launches), report.repeated


def numbers(program, first: int = 1) -> int:
    address = program.filled(BYTES)
    program.words(address, COUNT)[:] = np.arange(first, first + COUNT)
    return address


def test_the_loop_of_a_benchmark(program):
    to, source = program.allocate(BYTES), numbers(program)
    for _ in range(TIMES):
        assert program.launch(to, source, COUNT).error == 0
        program.ask("record", 1, 0)
        program.ask("wait", 2, 0)
        program.copy(ON_THE_STACK, to, BYTES, 2)
    assert list(program.words(to, COUNT)) == list(range(1, COUNT + 1))
    report = program.findings.report([], "", 0, 0)
    assert ran(program) == (2, TIMES - 2)
    assert report.ran() == "2 launches of 1 kernel, 2 blocks, 18 launches not run again"
    assert report.notes == (
        "18 launches not run again (18 of copy): the same one before left all memory as it was, and nothing was "
        "written since. All numbers are right",
    )
    assert '"repeated": 18' in report.json()


def test_two_in_turn(program):
    one, two, three = program.allocate(BYTES), numbers(program), program.allocate(BYTES)
    for _ in range(TIMES):
        program.launch(one, two, COUNT)
        program.launch(three, one, COUNT)
    assert list(program.words(three, COUNT)) == list(range(1, COUNT + 1))
    assert ran(program) == (4, 2 * TIMES - 4)


WRITERS = {
    "a copy": lambda program, to, source: program.copy(source, numbers(program, 900), BYTES),
    "a copy of the host's": lambda program, to, source: program.copy(to, ON_THE_STACK, BYTES, 1),
    "a fill": lambda program, to, source: program.ask("fill", source, 0, BYTES, 1, NO_STREAM, 0, 7),
    "another launch": lambda program, to, source: program.launch(source, numbers(program, 900), COUNT),
    "what its result is": lambda program, to, source: program.launch(to, numbers(program, 900), COUNT),
    "rows": lambda program, to, source: program.ask("fill", source, 64, 32, 2, NO_STREAM, 0, 7),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_it_runs_again_once_somebody_may_have_written(program, writer):
    to, source = program.allocate(BYTES), numbers(program)
    for _ in range(3):
        program.launch(to, source, COUNT)
    assert ran(program) == (2, 1)
    WRITERS[writer](program, to, source)
    before, _ = ran(program)
    program.launch(to, source, COUNT)
    assert ran(program)[0] == before + 1
    assert np.array_equal(program.words(to, COUNT), program.words(source, COUNT))


def test_what_is_written_elsewhere_does_not_matter(program):
    """As a benchmark does that empties a GPU's cache."""
    to, source, other = program.allocate(BYTES), numbers(program), program.allocate(BYTES)
    for _ in range(TIMES):
        program.ask("fill", other, 0, BYTES, 1, NO_STREAM, 0)
        program.copy(other, ON_THE_STACK, BYTES, 1)
        program.ask("release", program.allocate(64), 0, 0, 0)
        program.launch(to, source, COUNT)
    assert ran(program) == (2, TIMES - 2)


def test_memory_that_was_given_back(program):
    to, source = program.allocate(BYTES), numbers(program)
    for _ in range(3):
        program.launch(to, source, COUNT)
    program.ask("release", source, 0, 0, 0)
    program.launch(to, source, COUNT)
    assert ran(program) == (3, 1) and program.kinds() == [("out-of-bounds", "freed-array")]


@pytest.mark.parametrize("kind", [HOST, MANAGED])
@pytest.mark.parametrize("first", [True, False])
def test_memory_that_the_host_may_write_unseen(program, kind, first):
    kinds = [kind, DEVICE] if first else [DEVICE, kind]
    to, source = (program.allocate(BYTES, each) for each in kinds)
    program.ask("fill", source, 0, BYTES, 1, NO_STREAM, 0)
    for number in range(TIMES):
        program.words(source, COUNT)[:] = number
        program.launch(to, source, COUNT)
        program.ask("wait", 2, 0)
        if kind == MANAGED or not first:
            assert program.words(to, COUNT)[-1] == number
    assert ran(program) == (TIMES, 0)


def test_a_kernel_that_counts_its_calls():
    program = Program()
    to, source = program.allocate(BYTES), numbers(program)
    for _ in range(TIMES):
        program.launch(to, source, COUNT)
    (calls, _) = program.ask("symbol", 777).numbers
    assert program.words(calls, 1)[0] == 5 + TIMES * COUNT
    assert ran(program) == (TIMES, 0)


def test_a_launch_of_another_size_or_with_other_numbers_runs(program):
    to, source = program.allocate(BYTES), numbers(program)
    for count in (8, 8, 8, 16, 8, 64):
        program.launch(to, source, count)
    assert ran(program) == (5, 1)
    assert list(program.words(to, COUNT)) == list(range(1, COUNT + 1))


def test_it_meets_other_streams_all_the_same(program):
    to, source = program.filled(BYTES), numbers(program)
    for _ in range(3):
        program.launch(to, source, COUNT)
    assert ran(program) == (2, 1)
    for stream in (1, 2):
        program.ask("stream", stream, 1)
    for _ in range(4):
        program.launch(to, source, COUNT, stream=1)
        program.ask("wait", 2, 0)
    assert ran(program) == (4, 3)
    program.launch(to, source, COUNT, stream=1)
    assert ran(program) == (4, 4) and program.conflicts() == []
    program.copy(to, source, BYTES, stream=2)
    assert len(program.conflicts()) == 1


def test_what_it_finds_is_told_once(program):
    to, source = program.allocate(BYTES), program.allocate(BYTES)
    for _ in range(TIMES):
        program.launch(to, source, COUNT)
    assert program.kinds() == [("uninitialised-read", "never-written")]
    assert ran(program) == (2, TIMES - 2)
