"""When the host sees what streams wrote: asked without nvcc."""

import numpy as np
import pytest

from ptxsim.program import errors, late
from ptxsim.program.arena import DEVICE, HOST, MANAGED
from ptxsim.program.memory import NO_STREAM
from ptxsim.program.orders import DEVICE as WHOLE_DEVICE
from ptxsim.program.orders import EVENT, STREAM
from tests.ptxsim.program.harness import Program

ONE, TWO, EVENT_HANDLE, OTHER_EVENT = 101, 102, 201, 202
COUNT, BYTES = 64, 256
ON_THE_STACK = 0x7FFF_0000_1000
IN_THE_DEFAULT_STREAM = 0


@pytest.fixture
def program():
    """With two streams that do not wait for the default one."""
    made = Program()
    for handle in (ONE, TWO):
        made.ask("stream", handle, 1)
    yield made
    made.context.arena.close()


def numbers(program, first: int = 1) -> int:
    """Memory of the device with first, first + 1 ..."""
    address = program.filled(BYTES)
    program.words(address, COUNT)[:] = np.arange(first, first + COUNT)
    return address


def last(program, address: int) -> int:
    """What the host sees there."""
    return int(program.words(address, COUNT)[-1])


def copied_out(program, stream: int = ONE) -> int:
    """Pinned memory, into which numbers were copied."""
    pinned = program.allocate(BYTES, HOST)
    assert program.copy(pinned, numbers(program), BYTES, stream=stream) == 0
    return pinned


WAITS = {
    "of the stream": lambda program: program.ask("wait", STREAM, ONE),
    "of the device": lambda program: program.ask("wait", WHOLE_DEVICE, 0),
    "cudaFree": lambda program: program.ask("release", program.allocate(64), 0, 0, 0),
    "a second question": lambda program: [program.ask("query", STREAM, ONE) for _ in range(2)],
    "a function of the host": lambda program: program.ask("host_function", ONE),
    "a copy out to ordinary memory": lambda program: program.copy(
        ON_THE_STACK, numbers(program), BYTES, 2, ONE
    ),
    "long silence": lambda program: program.context.quiet(),
}
NO_WAITS = {
    "of another stream": lambda program: program.ask("wait", STREAM, TWO),
    "of the default stream": lambda program: program.ask("wait", STREAM, IN_THE_DEFAULT_STREAM),
    "of an event that is recorded nowhere": lambda program: program.ask("wait", EVENT, OTHER_EVENT),
    "one question": lambda program: program.ask("query", STREAM, ONE),
    "a copy in the default stream": lambda program: program.copy(
        ON_THE_STACK, numbers(program), BYTES, 2, NO_STREAM
    ),
    "cudaFreeAsync": lambda program: program.ask("release", program.allocate(64), 0, 1, 0),
    "a launch": lambda program: program.launch(program.allocate(BYTES), numbers(program), COUNT, stream=ONE),
}


@pytest.mark.parametrize("wait", [*WAITS, *NO_WAITS])
def test_a_copy_out_is_seen_behind_a_wait_for_it(program, wait):
    pinned = copied_out(program)
    assert last(program, pinned) == 0
    (WAITS | NO_WAITS)[wait](program)
    assert last(program, pinned) == (COUNT if wait in WAITS else 0)


def test_an_event_stands_for_what_came_before(program):
    before = copied_out(program)
    program.ask("record", EVENT_HANDLE, ONE)
    behind = copied_out(program)
    program.ask("wait", EVENT, EVENT_HANDLE)
    assert (last(program, before), last(program, behind)) == (COUNT, 0)


def test_an_event_brings_along_what_its_stream_waited_for(program):
    pinned = copied_out(program)
    program.ask("record", EVENT_HANDLE, ONE)
    program.ask("wait_event", TWO, EVENT_HANDLE)
    program.ask("wait", STREAM, TWO)
    assert last(program, pinned) == COUNT


def test_a_copy_that_the_host_waits_for_is_seen_at_once(program):
    pinned = copied_out(program, NO_STREAM)
    assert last(program, pinned) == COUNT


def test_a_launch_on_managed_memory(program):
    to = program.allocate(BYTES, MANAGED)
    assert program.launch(to, numbers(program), COUNT).error == 0
    assert last(program, to) == 0
    program.ask("wait", WHOLE_DEVICE, 0)
    assert last(program, to) == COUNT


def test_a_launch_on_a_managed_variable(program):
    (calls, _) = program.ask("managed_variable", program.module, 778, 4, data=b"calls").numbers
    program.launch(program.allocate(BYTES), numbers(program), COUNT, block=COUNT)
    assert program.words(calls, 1)[0] == 5
    program.ask("wait", WHOLE_DEVICE, 0)
    assert program.words(calls, 1)[0] == 5 + COUNT


def test_work_of_the_device_sees_what_the_host_does_not(program):
    pinned, back, to = copied_out(program), program.allocate(BYTES), program.allocate(BYTES, MANAGED)
    assert program.copy(back, pinned, BYTES, stream=ONE) == 0
    assert last(program, back) == COUNT
    program.launch(to, pinned, COUNT, stream=ONE)
    assert (last(program, pinned), last(program, to)) == (0, 0)
    program.ask("wait", STREAM, ONE)
    assert (last(program, pinned), last(program, to)) == (COUNT, COUNT)


def test_of_two_writes_the_host_sees_the_one_it_waited_for(program):
    pinned = copied_out(program)
    program.ask("record", EVENT_HANDLE, ONE)
    program.copy(pinned, numbers(program, 1001), BYTES, stream=ONE)
    program.ask("wait", EVENT, EVENT_HANDLE)
    assert last(program, pinned) == COUNT
    program.ask("wait", STREAM, ONE)
    assert last(program, pinned) == 1000 + COUNT


def test_only_what_was_written_is_held_back(program):
    """Beside it the host may write meanwhile: a launch on the first half, the host on the second."""
    to = program.allocate(BYTES, MANAGED)
    program.launch(to, numbers(program), COUNT // 2)
    program.words(to, COUNT)[COUNT // 2 :] = 7
    program.launch(program.allocate(BYTES), to, COUNT)
    program.ask("wait", WHOLE_DEVICE, 0)
    assert program.words(to, COUNT).tolist() == [*range(1, COUNT // 2 + 1), *[7] * (COUNT // 2)]


def test_a_fill(program):
    managed, plain = program.allocate(BYTES, MANAGED), program.allocate(BYTES)
    program.ask("fill", managed, 0, BYTES, 1, ONE, 0, 1)
    program.ask("fill", plain, 0, BYTES, 1, ONE, 0, 2**64 - 1)
    assert (last(program, managed), last(program, plain)) == (0, 0xFFFFFFFF)
    program.ask("wait", STREAM, ONE)
    assert last(program, managed) == 0x01010101
    program.ask(
        "fill", managed, 0, BYTES, 1, NO_STREAM, 0, 2
    )  # cudaMemset: of managed memory, the host waits
    assert last(program, managed) == 0x02020202


def test_a_question_says_once_that_it_is_not_over(program):
    said = [program.ask("query", STREAM, ONE).error]
    program.ask("record", EVENT_HANDLE, ONE)
    copied_out(program)
    said += [program.ask("query", STREAM, ONE).error for _ in range(3)]
    said += [program.ask("query", EVENT, EVENT_HANDLE).error]
    copied_out(program)
    said += [program.ask("query", STREAM, ONE).error for _ in range(2)]
    assert said == [0, errors.NOT_READY, 0, 0, 0, errors.NOT_READY, 0]


def test_what_nobody_waited_for_is_told(program):
    for _ in range(3):
        copied_out(program)
    program.ask("release", program.allocate(64), 0, 0, 0)
    (note,) = program.findings.notes
    assert note == (
        "until cudaFree the host did not wait for cudaMemcpyAsync in stream 1, and for 2 more: before, it sees nothing "
        "of what was written"
    )


def test_much_is_not_held_back(program, monkeypatch):
    """The oldest is seen."""
    monkeypatch.setattr(late, "MOST", 2 * BYTES)
    pinned = [copied_out(program) for _ in range(3)]
    assert [last(program, each) for each in pinned] == [COUNT, 0, 0]


def test_pages_of_a_large_array(program):
    """A launch that writes at two places far apart, and none between."""
    to = program.allocate(1 << 20, MANAGED)
    for first in (4096 - 128, 1 << 19):
        program.launch(to + first, numbers(program), COUNT)
    assert not program.words(to, 1 << 18).any()
    program.ask("wait", WHOLE_DEVICE, 0)
    assert np.flatnonzero(program.words(to, 1 << 18)).tolist() == [
        *range(1024 - 32, 1024 + 32),
        *range(1 << 17, (1 << 17) + COUNT),
    ]


def test_memory_of_the_device_is_not_held_back(program):
    to = program.allocate(BYTES, DEVICE)
    program.copy(to, numbers(program), BYTES, stream=ONE)
    assert last(program, to) == COUNT
