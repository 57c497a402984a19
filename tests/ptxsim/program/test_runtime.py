"""The rules of CUDA's runtime, asked without nvcc: memory, launches, errors."""

import resource
import socket

import numpy as np
import pytest

from ptxsim.ground.work import PATIENCE, SECONDS
from ptxsim.observe.counters import Counts
from ptxsim.program import fatbin, launches, wire
from ptxsim.program.arena import BASE, DEVICE, GAP, HOST, MANAGED, SIZE
from ptxsim.program.context import Stopped
from ptxsim.program.fatbin import NoPtx, ptx_in
from ptxsim.program.progress import STILL
from tests.ptxsim.program.harness import PTX, Program, fat_binary

ON_THE_STACK = 0x7FFF_0000_1000


@pytest.fixture
def program():
    made = Program()
    yield made
    made.context.arena.close()


def test_a_launch_on_memory_of_the_program(program):
    source, to = program.filled(256), program.allocate(256)
    program.words(source, 64)[:] = np.arange(64)
    assert program.launch(to, source, 64) == wire.Answer(0, (), b"")
    assert np.array_equal(program.words(to, 64), np.arange(64))
    (address, size) = program.ask("symbol", 777).numbers
    assert (size, program.words(address, 1)[0]) == (4, 5 + 64)
    assert program.ask("symbol", 778).error == 13
    assert program.kinds() == [] and program.refused() == []


def test_a_pointer_into_an_allocation(program):
    source, to = program.filled(512), program.allocate(512)
    assert program.launch(to + 256, source + 256, 64).error == 0
    assert program.kinds() == []
    program.launch(to + 256, source + 256, 65, 96)
    assert program.kinds() == [
        ("out-of-bounds", "read-beyond-array"),
        ("out-of-bounds", "write-beyond-array"),
    ] or program.kinds() == [("out-of-bounds", "read-beyond-array")]


def test_a_variable_has_its_elements(program):
    (variable, _) = program.ask("symbol", 777).numbers
    program.launch(program.allocate(256), variable + 4, 1)
    (found,) = program.findings.report([], "", 0, 0).hazards
    assert "element 1 of calls (4 bytes), which has 1 elements" in found.hazard.message


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("filled", []),
        ("empty", [("uninitialised-read", "never-written")]),
        ("copied from empty", [("uninitialised-read", "never-written")]),
        ("copied from filled", []),
        ("copied from the host", []),
        ("pinned", []),
        ("managed", []),
        ("freed", [("out-of-bounds", "freed-array")]),
        ("null", [("out-of-bounds", "no-array")]),
        ("short", [("out-of-bounds", "read-beyond-array")]),
    ],
)
def test_what_a_kernel_may_read(program, source, found):
    other = {"copied from empty": program.allocate, "copied from filled": program.filled}.get(source)
    kind = {"pinned": HOST, "managed": MANAGED}.get(source, DEVICE)
    address = program.filled(256) if source == "filled" else program.allocate(256, kind)
    if other:
        assert program.copy(address, other(256), 256) == 0
    if source == "copied from the host":
        assert program.copy(address, ON_THE_STACK, 256, 1) == 0
    if source == "freed":
        assert program.ask("release", address, 0, 0, 0).error == 0
    if source == "short":
        address = program.filled(252)
    program.launch(program.allocate(256), 0 if source == "null" else address, 64)
    assert program.kinds() == found


@pytest.mark.parametrize(
    ("size", "kind", "error"), [(256, 1, 0), (257, 1, 1), (256, 2, 1), (256, 3, 1), (256, 4, 0), (256, 0, 1)]
)
def test_a_copy_from_the_host(program, size, kind, error):
    """Of 256 bytes there are: to the device, not from it; the kind of a copy must be true."""
    assert program.copy(program.allocate(256), ON_THE_STACK, size, kind) == error
    assert len(program.refused()) == bool(error)


def test_rows_of_a_copy(program):
    """Three rows of 100 bytes, 128 apart: what lies between them stays unwritten."""
    to = program.allocate(3 * 128)
    assert program.ask("copy", to, 128, ON_THE_STACK, 100, 100, 3, 1, 0, 0).error == 0
    written = program.context.arena.find(to).written.data.reshape(3, 128)
    assert written[:, :100].all() and not written[:, 100:].any()
    assert program.ask("copy", to, 128, ON_THE_STACK, 100, 100, 4, 1, 0, 0).error == 1


def test_what_is_freed(program):
    address, pinned = program.allocate(64), program.allocate(64, HOST)
    assert program.ask("release", address + 4, 0, 0, 0).error == 1
    assert program.ask("release", pinned, 0, 0, 0).error == 1
    assert program.ask("release", address, 1, 0, 0).error == 1
    assert program.ask("release", address, 0, 0, 0) == wire.Answer(0, (64,))
    assert program.ask("release", address, 0, 0, 0).error == 1
    begins = [
        "the pointer is 4 bytes behind",
        "this is memory of the host",
        "this is memory of the device",
        "the memory was freed before",
    ]
    whys = [why for _, _, why in program.refused()]
    assert [why[: len(begin)] for why, begin in zip(whys, begins, strict=True)] == begins
    assert program.runtime.memory.leaks() == [(64, 0)]


def test_a_reset_frees_all(program):
    address, _ = program.allocate(64), program.allocate(64, HOST)
    assert program.ask("reset").error == 0
    assert program.runtime.memory.leaks() == []
    program.launch(program.allocate(256), address, 4)
    (found,) = program.findings.report([], "", 0, 0).hazards
    assert found.hazard.cause == "freed-array"


def test_launches_that_cuda_refuses(program):
    to = program.filled(64)
    assert program.launch(to, to, 4, block=0).error == 9
    assert program.launch(to, to, 4, block=1025).error == 9
    assert program.launch(to, to, 4, block=513).error == 701  # __launch_bounds__
    assert program.launch(to, to, 4, shared=50_000).error == 1
    assert program.ask("set_function_attribute", program.kernel, 8, 300_000).error == 1
    assert program.ask("set_function_attribute", program.kernel, 8, 50_000).error == 0
    assert program.launch(to, to, 4, shared=50_000).error == 0
    assert [error for _, error, _ in program.refused()] == [
        "cudaErrorInvalidConfiguration",
        "cudaErrorInvalidConfiguration",
        "cudaErrorLaunchOutOfResources",
        "cudaErrorInvalidValue",
    ]


def test_a_cooperative_launch_must_fit_into_the_gpu(program, monkeypatch):
    monkeypatch.setattr(launches, "registers_of", lambda function, gpu: 64)
    to = program.filled(64)
    fits = 132 * 65536 // (64 * 512)
    assert program.launch(to, to, 0, block=512, grid=fits, together=1).error == 0
    assert program.launch(to, to, 0, block=512, grid=fits + 1, together=1).error == 720
    assert program.launch(to, to, 0, block=512, grid=fits + 1).error == 0


def test_an_error_that_stays(program):
    """After a kernel that ends itself CUDA answers all calls with its error, until a reset."""
    (module,) = program.ask("module", 0, data=fat_binary(PTX.replace("$done:", "$done: trap;"))).numbers
    (program.kernel,) = program.ask("function", module, data=b"copy").numbers
    address = program.filled(64)
    assert program.launch(address, address, 4).error == 719
    assert program.ask("wait", 2, 0).error == 719
    assert program.copy(address, ON_THE_STACK, 64, 1) == 719
    assert program.ask("allocate", 64, DEVICE, 0).error == 719
    assert program.kinds() == [("trap", "trap")]
    assert program.ask("reset").error == 0
    assert program.ask("allocate", 64, DEVICE, 0).error == 0


def test_addresses_are_given_again_only_at_the_end(program):
    first = program.allocate(64)
    program.ask("release", first, 0, 0, 0)
    assert program.allocate(64) > first
    program.context.arena._next = SIZE
    assert program.allocate(64) == first
    assert program.ask("allocate", 64, DEVICE, 0).error == 2
    assert BASE < first < BASE + SIZE and GAP < SIZE


def test_memory_of_the_device_has_an_end(program):
    assert program.ask("allocate", 79 << 30, DEVICE, 0).error == 0
    assert program.ask("allocate", 2 << 30, DEVICE, 0).error == 2
    assert program.ask("memory_left").numbers == (1 << 30, 80 << 30)


def test_memory_of_the_host_that_is_registered(program):
    first, page = ON_THE_STACK - 4096, 4096
    answer = program.ask("register_host", first + 16, 64, first, page, 0)
    assert answer.error == 0 and program.ask("pointer", first + 16).numbers == (1,)
    program.words(first + 16, 16)[:] = 3
    shared = program.context.arena.bytes_at(answer.numbers[0], 96)
    assert shared[16:80].view(np.uint32).tolist() == [3] * 16 and not shared[80:].any()
    to = program.allocate(64)
    assert program.launch(to, first + 16, 16).error == 0
    assert program.words(to, 16).tolist() == [3] * 16
    assert program.ask("unregister_host", first + 16).error == 0
    assert program.ask("unregister_host", first + 16).error == 713


def test_more_allocations_than_a_process_may_have_files(program):
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, usual[1]))
    try:
        held = [program.filled(4) for _ in range(300)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    assert program.words(held[-1], 1).tolist() == [0]


STREAMS = 100, 200
EVENT = 7


@pytest.fixture
def in_streams(program):
    """With two streams that wait for no other: what each does to an allocation, in this order; counts conflicts."""

    def run(*acts: str) -> int:
        for handle in STREAMS:
            program.ask("stream", handle, 1)
        address, other = program.filled(256), program.filled(256)
        program.ask("wait", 2, 0)
        for act in acts:
            verb, *names = act.split()
            stream = {"one": STREAMS[0], "two": STREAMS[1], "default": 0}.get(names[0], 0) if names else 0
            if verb == "writes":
                assert program.copy(address, other, 256, stream=stream) == 0
            elif verb == "reads":
                assert program.launch(other, address, 64, stream=stream).error == 0
            elif verb == "begins":
                assert program.copy(address, other, 128, stream=stream) == 0
            elif verb == "ends":
                assert program.copy(address + 128, other, 128, stream=stream) == 0
            elif verb == "counts":
                assert program.launch(other, other, 0, stream=stream).error == 0
            elif verb == "records":
                program.ask("record", EVENT, stream)
            elif verb == "waits":
                program.ask("wait_event", stream, EVENT)
            elif verb == "host":
                program.ask(
                    "wait", *{"stream": (0, STREAMS[0]), "event": (1, EVENT), "device": (2, 0)}[names[0]]
                )
        return len(program.conflicts())

    return run


@pytest.mark.parametrize(
    ("acts", "conflicts"),
    [
        (["writes one", "writes one"], 0),
        (["writes one", "reads two"], 1),
        (["reads one", "writes two"], 1),
        (["reads one", "counts two"], 0),
        (["begins one", "ends two"], 0),
        (["begins one", "ends two", "reads one"], 1),
        (["counts one", "counts two"], 0),
        (["writes one", "records one", "waits two", "reads two"], 0),
        (["records one", "writes one", "waits two", "reads two"], 1),
        (["writes one", "host stream", "reads two"], 0),
        (["writes two", "host stream", "reads one"], 1),
        (["writes one", "host device", "reads two"], 0),
        (["writes one", "records one", "host event", "reads two"], 0),
        (["writes one", "reads default"], 1),
        (["writes default", "host device", "reads one"], 0),
    ],
)
def test_work_of_two_streams(in_streams, acts, conflicts):
    assert in_streams(*acts) == conflicts


@pytest.mark.parametrize(("alone", "conflicts"), [(0, 0), (1, 1)])
def test_the_default_stream_waits_for_those_that_wait_for_it(program, alone, conflicts):
    program.ask("stream", 100, alone)
    address, other = program.filled(256), program.filled(256)
    program.ask("wait", 2, 0)
    assert program.copy(address, other, 256, stream=100) == 0
    assert program.launch(other, address, 64).error == 0
    assert program.copy(other, other, 256, stream=100) == 0
    assert len(program.conflicts()) == 2 * conflicts


def test_what_a_pointer_is(program):
    kinds = [ON_THE_STACK, program.allocate(4, HOST), program.allocate(4), program.allocate(4, MANAGED)]
    assert [program.ask("pointer", address).numbers[0] for address in kinds] == [0, 1, 2, 3]


def test_the_newest_text_that_fits():
    two = fat_binary("new", 90)[16:] + fat_binary("old", 70)[16:]
    binary = fat_binary("x")[:8] + len(two).to_bytes(8, "little") + two
    assert [ptx_in(binary, arch) for arch in (90, 89, 70)] == ["new", "old", "old"]


@pytest.mark.parametrize(
    ("binary", "said"),
    [
        (fat_binary("new", 100), "made for compute_100"),
        (fat_binary("x", flags=0x2000), "compressed"),
        (fat_binary("x", flags=0x8000), "compressed"),
        (fat_binary("x", kind=2), "only machine code"),
        (b"\0" * 32, "another kind of binary"),
    ],
)
def test_a_binary_without_a_text(monkeypatch, binary, said):
    monkeypatch.setattr(fatbin, "_expanded", lambda payload: None)
    with pytest.raises(NoPtx, match=said):
        ptx_in(binary, 90)


def test_a_text_that_is_compressed(monkeypatch):
    monkeypatch.setattr(fatbin, "_expanded", lambda payload: f"{len(payload)} bytes".encode())
    assert ptx_in(fat_binary("x", flags=0x8000), 90) == "4 bytes"


def test_a_program_without_a_text_is_stopped(program):
    with pytest.raises(Stopped, match="only machine code"):
        program.ask("module", 0, data=fat_binary("x", kind=2))


def test_a_function_that_is_not_there(program):
    with pytest.raises(Stopped, match="the program calls cudaFoo, which"):
        program.ask("missing", 0, data=b"cudaFoo")
    with pytest.raises(Stopped, match="calls cudnnCreate at : the program uses cuDNN"):
        program.ask("missing", 0, data=b"cudnnCreate")


def test_a_launch_counts_nothing_that_nobody_asks_for(monkeypatch, program):
    reports = []
    run = launches.launch_bound
    monkeypatch.setattr(launches, "launch_bound", lambda *a, **b: reports.append(run(*a, **b)) or reports[0])
    program.launch(program.allocate(256), program.filled(256), 64)
    assert reports[0].counters.total == Counts() and not any(reports[0].events)


@pytest.mark.parametrize(("limit", "still"), [(60, 60), (600, STILL)])
def test_a_launch_that_does_not_seem_to_get_on_may_take_its_limit(monkeypatch, program, limit, still):
    """Such as eight million atomics on ten words, which touch no new memory."""
    given = []
    run = launches.launch_bound
    monkeypatch.setattr(launches, "launch_bound", lambda *a, **b: given.append(a[5]) or run(*a, **b))
    program.runtime.launches.progress.limit = limit
    program.launch(program.allocate(256), program.filled(256), 64)
    assert (given[0].seconds, given[0].patience) == (still, still * PATIENCE / SECONDS)


def test_questions_and_answers():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(
            b"\4\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0copy" + b"\1" + b"\0" * 14 + b"\1abc"
        )
        assert wire.receive(ours) == ("copy", (1, 1 << 56), b"abc")
        wire.send(ours, wire.Answer(7, (-1,), b"xy"))
        assert (
            theirs.recv(100)
            == b"\7" + b"\0" * 7 + b"\1" + b"\0" * 7 + b"\2" + b"\0" * 7 + b"\xff" * 8 + b"xy"
        )
        theirs.close()
        assert wire.receive(ours) is None


def test_of_launches_that_are_alike_few_run():
    """Numbers may differ; sizes and arrays may not."""
    program = Program(once=True)
    one, two = program.filled(4096), program.filled(4096)
    for count in range(20):
        assert program.launch(one, two, count).error == 0
    program.launch(two, one, 1)
    program.launch(one, two, 1, block=32)
    report = program.findings.report([], "", 0, 0)
    assert (len(report.launches), report.left_out) == (6 + 2, 14)
    assert report.ran().endswith("8 launches of 1 kernel, 8 blocks, 14 launches left out")
    assert report.notes == (
        "14 launches like others before left out (14 of copy): what the program computed may not be right",
    )
    assert '"left_out": 14' in report.json()


def test_of_launches_that_are_alike_few_are_judged():
    """... and all are computed."""
    program = Program(judge_once=True)
    array = program.filled(4096)
    for count in range(64, 84):
        assert (
            program.launch(array, array + 4, count).error == 0
        )  # each thread reads what the next one writes
    report = program.findings.report([], "", 0, 0)
    assert [each.hazard.kind for each in report.hazards] == ["write-after-read"]
    assert report.hazards[0].launches == 6
    assert (len(report.launches), report.computed, report.left_out) == (20, 14, 0)
    assert report.ran().endswith("20 launches of 1 kernel, 20 blocks, 14 launches only computed")
    assert report.notes == (
        "14 launches like others before only computed (14 of copy): nobody looked for races in them",
    )
    assert '"computed": 14' in report.json()
    (calls, _) = program.ask("symbol", 777).numbers
    assert program.words(calls, 1)[0] == 5 + 20 * 64


def test_what_a_launch_wrote_that_was_only_computed_is_written():
    program = Program(judge_once=True)
    one, two, three = program.filled(256), program.allocate(256), program.filled(256)
    for count in (8, 8, 8, 8, 64):
        program.launch(two, one, count)
    program.launch(three, two, 64)
    assert program.findings.report([], "", 0, 0).computed == 1
    assert program.kinds() == []


def test_a_launch_that_is_only_computed_meets_other_streams():
    program = Program(judge_once=True)
    for stream in (1, 2):
        program.ask("stream", stream, 1)
    one, two = program.filled(256), program.filled(256)
    for _ in range(5):
        program.ask("wait", 2, 0)
        program.launch(two, one, 64, stream=1)
    program.copy(two, one, 256, stream=2)
    assert len(program.conflicts()) == 1


def test_without_that_all_run():
    program = Program()
    one, two = program.filled(4096), program.filled(4096)
    for count in range(20):
        program.launch(one, two, count)
    report = program.findings.report([], "", 0, 0)
    assert (len(report.launches), report.left_out, report.notes) == (20, 0, ())
