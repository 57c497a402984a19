"""Thirty who ask at once, and texts that are broken, endless, huge or hostile: each gets what is right for it."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course_lib import kernel_source
from cupy_or_sim.device import INCLUDE, OPTIONS
from hiding_latency.compile_service.limits import Limits
from hiding_latency.compile_service.pool import ENDED, Kept, Pool, Turns, Worker
from hiding_latency.compile_service.questions import Question
from hiding_latency.compile_service.worker import compiled
from ptxsim.compiler import cache, elsewhere, nvrtc
from tests.rules import ROOT

from .ask import DEEP, EAGER, ENDLESS, GOOD, LARGE, ask, error, sent
from .conftest import SECONDS, serving


def process_of(server):
    """The number of the process that holds the compiler."""
    return server.pool._worker._process.pid


def copies(server):
    """Compilations at work."""
    if not server.pool._worker._process:
        return []
    number = process_of(server)
    return Path(f"/proc/{number}/task/{number}/children").read_text().split()


@pytest.mark.parametrize("kind", ["ptx", "code"])
def test_a_kernel_of_a_lesson_becomes_what_ships_of_it(service, kind):
    source = kernel_source("02_producer_consumer", "early_copy")
    wanted = nvrtc.wanted(source, OPTIONS, kind=kind)
    status, said, _ = ask(service, **elsewhere.question(wanted))
    assert status == 200 and nvrtc.packed(said[kind], said["lowered"]) == cache.find(cache.key_of(*wanted))


def test_warnings_come_in_the_log(service):
    said = ask(service, GOOD.replace("{", "{ int unused;") % 1)[1]
    assert re.search(r'kernel.cu\(1\): warning .*"unused"', said["log"])


def test_name_expressions_and_registers(service):
    template = "template <int N> __global__ void t(int* x) { *x = N; }"
    assert (
        ask(service, template, names=["t<3>"])[1]["lowered"]["t<3>"]
        in ask(service, template, names=["t<3>"])[1]["ptx"]
    )
    status, said, _ = ask(service, GOOD % 1, kind="log", arch="sm_90")
    assert status == 200 and re.search(r"Used \d+ registers", said["log"]) and not said["ptx"]


PATIENCE = 120  # seconds; a machine that has other work starts a compiler late


def until(true, why="it came true"):
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < PATIENCE, why
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ENDLESS % 150, f"was stopped after {SECONDS} seconds of work"),
        (EAGER % 1, "out of memory|stopped after"),
        (LARGE % 1, "broke off|stopped after"),
        (DEEP % 1, "more than 500 brackets are open here"),
        ('#include "kernel.cu"', "includes itself"),
        ("#error \x1b[2J", r"directive: \x1b[2J"),
        (
            "template <int N> struct F { static constexpr int v = F<N + 1>::v; }; int x = F<0>::v;",
            "recursion",
        ),
    ],
    ids=["endless", "eager", "large", "deep", "itself", "an order for a terminal", "recursive"],
)
def test_a_text_that_goes_too_far_is_stopped_and_its_author_told(service, text, words):
    began = time.monotonic()
    status, why = error(service, text)
    assert status == 422 and "kernel.cu" in why
    assert any(part in why for part in words.split("|")), why
    assert time.monotonic() - began < 60
    assert ask(service, GOOD % 2)[0] == 200


def test_what_is_sent_back_is_limited():
    limits, known = Limits(answer=500), nvrtc.all_headers([INCLUDE])
    status, said = compiled(Question((GOOD % 1) + (GOOD % 2).replace("k(", "l("), ()), known, limits)
    assert status == 422 and re.search(r"has [\d,]+ characters, and at most 500 are sent", said["error"])
    assert compiled(Question("// nothing", ()), known, limits)[0] == 200


def test_the_memory_of_a_text_is_limited(book):
    """Of two servers the one that gives less stops a text that the other compiles."""
    text = "#include <cuda/std/tuple>\n#include <cooperative_groups.h>\n" + GOOD % 3
    with serving(book, memory=8 << 20, at_once=1, seconds=20) as small:
        status, why = error(small, text)
    assert status == 422 and re.search("out of memory|broke off", why)
    with serving(book, at_once=1, seconds=20) as large:
        assert ask(large, text)[0] == 200


HOSTILE = {
    "absolute": '#include "{}"',
    "in angles": "#include <{}>",
    "from the folder": '#include "../../../../../../..{}"',
    "by a macro": '#define S(x) #x\n#define T(x) S(x)\n#include T({})',
    "spliced": '#inc\\\nlude "{}"',
    "digraph": '%:include "{}"',
    "again": '#include_next "{}"',
    "embedded": "__device__ char x[] = {{\n#embed \"{}\"\n}};",
    "imported": '#import "{}"',
    "asked for": '#if __has_include("{}")\n#error there\n#endif',
    "a line of it": '#line 1 "{}"\nwrong',
    "by its number": '#include "/dev/fd/0"\n#include "/proc/self/environ"//{}',
    "in a pragma": '#pragma GCC dependency "{}"\n#pragma include_alias("x.h", "{}")\n#include "x.h"',
    "assembled": 'extern "C" __global__ void k() {{ asm volatile(".incbin \\"{}\\"; .include \\"{}\\";"); }}',
}  # fmt: skip


@pytest.mark.parametrize("kind", ["ptx", "log", "code"])
@pytest.mark.parametrize("way", HOSTILE)
def test_no_way_to_read_a_file_of_the_machine(service, tmp_path, way, kind):
    there, missing = tmp_path / "of_the_teacher.h", tmp_path / "of_nobody_ever.h"
    there.write_text('wrong_here "secret 4711"\n')
    said = [ask(service, HOSTILE[way].replace("{}", str(path)).replace("{{", "{").replace("}}", "}"), kind=kind)
            for path in (there, missing)]  # fmt: skip
    assert "4711" not in str(said) and "wrong_here" not in str(said) and "open files" not in str(said)
    one, none = (re.sub(r"of_the_teacher|of_nobody_ever|\s*\^\s*", "", str(each[:2])) for each in said)
    assert one == none, "the answer tells whether there is such a file"


def test_a_header_that_is_not_there_is_said_as_a_learner_needs_it(service):
    status, why = error(service, '\n#include "/etc"\n' + GOOD % 13)
    assert status == 422 and why.startswith(
        'kernel.cu(2): catastrophic error: cannot open source file "/etc"\n'
    )
    assert why.endswith(nvrtc.NOT_AMONG_THESE)
    assert error(service, "#include <vector>")[1].endswith(nvrtc.NO_HEADERS)


def test_no_folder_of_this_machine_is_named(service):
    own_name = GOOD.replace("float", "const char*").replace("%d", "__FILE__")
    texts = ["x", '#include "none.h"', "#include <course/none.cuh>", "#include <course/cp_async.cuh>\nx",
             "#include <cuda/std/array>\n" + GOOD % 4, own_name]  # fmt: skip
    for text in texts:
        said = str(ask(service, text)[:2])
        assert str(ROOT) not in said and "site-packages" not in said and "usr/local" not in said


def test_a_copy_of_the_compiler_has_no_rights_left(service):
    """What the kernel says of it while it is at work."""
    with sent(service, ENDLESS % 151):
        until(lambda: copies(service))
        time.sleep(0.3)
        (at_work,) = copies(service)
        limits = Path(f"/proc/{at_work}/limits").read_text()
        open_files = {os.readlink(path) for path in Path(f"/proc/{at_work}/fd").iterdir()}
    assert re.search(r"Max open files +0 +0", limits) and re.search(r"Max file size +0 +0", limits)
    assert sum(name.startswith("pipe:") for name in open_files) == 1
    assert all(name.startswith(("pipe:", "/dev/null")) for name in open_files)
    until(lambda: not copies(service), "nothing is left of it")


def test_thirty_at_once_get_each_their_own(service):
    """Every third one has a mistake, in a line of its own."""

    def learner(number):
        text = "\n" * number + (GOOD.replace("float", "int") % (1000 + number)).replace(
            "= ", "= wrong" if number % 3 == 0 else "= "
        )
        return ask(service, text, sender=f"127.0.1.{number}")[:2]

    with ThreadPoolExecutor(30) as room:
        answers = list(room.map(learner, range(30)))
    for number, (status, said) in enumerate(answers):
        if number % 3:
            assert status == 200 and f"mov.u32 \t%r1, {1000 + number};" in re.sub(
                r"%r\d+", "%r1", said["ptx"]
            )
        else:
            assert status == 422
            assert f'kernel.cu({number + 1}): error: identifier "wrong{1000 + number}"' in said["error"]


def test_who_comes_when_all_places_are_taken_is_told(book):
    with serving(book, at_once=1, waiting=1) as server:
        with sent(server, ENDLESS % 152), sent(server, ENDLESS % 153):
            until(lambda: server.pool._turns._waiting.get("127.0.0.1"))
            again = "wait for the compiler, and no more are taken. Try it again in a few seconds."
            assert error(server, GOOD % 5) == (429, f"1 texts from your address {again}")
            status, said, headers = ask(server, GOOD % 5, sender="127.0.0.2")
            assert (status, said["error"]) == (429, f"1 texts {again}") and headers["Retry-After"] == "5"
        assert ask(server, GOOD % 5)[0] == 200


def test_what_nobody_waits_for_is_dropped(book):
    """A text that waits loses its place, one at work ends."""
    with serving(book, at_once=1, seconds=10 * PATIENCE) as server:
        with sent(server, ENDLESS % 161), sent(server, ENDLESS % 162):
            until(lambda: copies(server) and server.pool._turns._waiting["127.0.0.1"])
        until(lambda: not copies(server) and not server.pool._turns._waiting)
        assert ask(server, GOOD % 5)[0] == 200


def test_one_sender_shuts_nobody_out(book):
    """As many endless texts and connections as are taken, and more."""
    with serving(book, at_once=4, seconds=60) as server:
        assert ask(server, GOOD % 16)[0] == 200
        with contextlib.ExitStack() as held:
            for number in range(64):
                held.enter_context(sent(server, ENDLESS % 163 + f"// {number}", "127.0.0.2"))
            for _ in range(420):
                held.enter_context(
                    socket.create_connection(
                        ("127.0.0.1", server.server_port), source_address=("127.0.0.3", 0)
                    )
                )
            until(lambda: copies(server))
            began = time.monotonic()
            assert ask(server, GOOD % 17, sender="127.0.0.4")[0] == 200
            assert time.monotonic() - began < 5 and len(copies(server)) == 1
            assert len(server.pool._turns._waiting["127.0.0.2"]) == 15
            assert ask(server, GOOD % 18, sender="127.0.0.2")[0] == 429


def test_whose_turn_was_longest_ago_is_next():
    async def order():
        turns, began = Turns(Limits(at_once=2, share=0.5)), []

        async def one(sender):
            async with turns.one(sender):
                began.append(sender)
                await asyncio.sleep(0)

        await asyncio.gather(*map(one, "aaabbca"))
        assert not turns._waiting and not turns._last and not turns._at_work, "nobody is remembered"
        return "".join(began)

    assert asyncio.run(order()) == "abcabaa"


def test_who_ran_out_of_time_queues_last_until_a_text_ends(monkeypatch):
    """x, y and z send what never ends, a and b do not; four places, of which one sender has one."""

    async def order(share, *rounds):
        pool, began = Pool(Limits(at_once=4, share=share)), []

        async def compiled(_, question):
            began.append(question.source)
            for _ in range(3):
                await asyncio.sleep(0)
            return ((422, {}), False) if question.source in "xyz" else ((200, {}), True)

        monkeypatch.setattr(Worker, "ask", compiled)
        for each in rounds:
            began.append("|")
            texts = [Question(source, (str(len(began) + place),)) for place, source in enumerate(each)]
            await asyncio.gather(*(pool.answer(text, text.source.lower()) for text in texts))
        return "".join(began)[1:]

    assert asyncio.run(order(0.25, "xyzab", "xyzab")) == "xyzab|xabyz"
    assert asyncio.run(order(0.25, "xyz", "xyxyzab")) == "xyz|xabyzxy"
    assert asyncio.run(order(0.25, "xy", "X", "yxa")) == "xy|X|yxa", "a text that ends is enough"
    assert asyncio.run(order(1.0, "xyzab", "xyzab")) == "xyzab|xyzab", "all have one address"


def test_a_text_that_was_compiled_is_not_compiled_again(service, monkeypatch):
    asked = []
    original = Worker.ask
    monkeypatch.setattr(Worker, "ask", lambda worker, question: asked.append(1) or original(worker, question))
    answers = [ask(service, GOOD % 6)[:2] for _ in range(3)]
    assert len(asked) == 1 and answers[0] == answers[1] == answers[2]
    ask(service, GOOD % 6, arch="sm_90")
    assert len(asked) == 2
    with ThreadPoolExecutor(30) as room:
        list(room.map(lambda number: ask(service, GOOD % 7, sender=f"127.0.2.{number}"), range(30)))
    assert len(asked) <= 2 + service.limits.at_once, "thirty with one text wait for it"
    asked.clear()
    for _ in range(2):
        ask(service, ENDLESS % 154)
    assert len(asked) == 2, "what took too long is tried again: the machine may have been busy"


def test_what_is_kept_has_a_bound():
    kept = Kept(1000)
    for number in range(20):
        kept.put(Question(str(number), ()), (200, {"ptx": "x" * 100, "log": ""}))
        kept.get(Question("0", ()))
    assert kept.get(Question("0", ())) and kept.get(Question("19", ())) and not kept.get(Question("1", ()))
    kept.put(Question("large", ()), (200, {"ptx": "x" * 2000, "log": ""}))
    assert not kept._answers and kept._size == 0


def test_a_compiler_that_the_system_ended_is_started_again(book):
    with serving(book, at_once=1) as server:
        assert ask(server, GOOD % 8)[0] == 200
        os.kill(process_of(server), signal.SIGKILL)
        until(lambda: server.pool._worker._process.returncode is not None)
        assert ask(server, GOOD % 9)[0] == 200
        with ThreadPoolExecutor(1) as other:
            said = other.submit(error, server, ENDLESS % 155)
            until(lambda: copies(server))
            left = copies(server)
            os.kill(process_of(server), signal.SIGKILL)
            assert said.result() == (503, ENDED[1]["error"])
        assert ask(server, GOOD % 10)[0] == 200
        until(lambda: not Path(f"/proc/{left[0]}").exists(), "its copies end with it")


def test_a_compiler_that_does_not_answer_is_replaced(book):
    """Stopped, as by a machine that has no memory left for it."""
    with serving(book, at_once=1, sign=1.0) as server:
        assert ask(server, GOOD % 8)[0] == 200
        stopped = process_of(server)
        os.kill(stopped, signal.SIGSTOP)
        assert error(server, GOOD % 9) == (503, ENDED[1]["error"])
        assert ask(server, GOOD % 9)[0] == 200 and process_of(server) != stopped


def test_nothing_is_left_when_the_server_ends(book):
    with serving(book, at_once=2) as server:
        ask(server, GOOD % 11)
        connection = sent(server, ENDLESS % 156)
        until(lambda: copies(server))
        left = [process_of(server), *map(int, copies(server))]
    connection.close()
    until(lambda: not any(Path(f"/proc/{number}").exists() for number in left))


def test_a_machine_that_is_busy_is_not_the_learners_fault(book):
    with serving(book, seconds=30, patience=1.0) as server:
        status, why = error(server, ENDLESS % 157)
    assert status == 503 and why.endswith("busy: this text was not done in 1 seconds. Try it again.")


def test_without_a_compiler_it_says_so(book, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests" / "without_nvrtc"), str(ROOT)]))
    with serving(book, at_once=1) as server:
        for said in (error(server, method="GET"), error(server, GOOD % 12)):
            assert said[0] == 503 and "There is no compiler on the machine that serves this page." in said[1]
        assert ask(server, method="GET", path="/")[0] == 200


def test_elsewhere_than_on_linux_it_says_so(monkeypatch, book):
    monkeypatch.setattr(sys, "platform", "darwin")
    with serving(book, at_once=1) as server:
        assert error(server, method="GET") == (
            503,
            "The compile service needs Linux; on Windows it runs inside WSL.",
        )


ON_A_MAC = """
from course_lib import Gemm, cp, lesson_kernel
kernel, launch = lesson_kernel("01_mainloop", "tiled")
problem = Gemm(4096, 4096, 4096, "float32")
edited = cp.RawKernel(kernel.code + "// mine", "tiled", options=kernel.options)
print(problem.check(edited, launch))
barrier = "__syncthreads();                              // the k-tile is complete"
from course_lib import benchmark
print(benchmark(problem, {"mine": (edited, launch)}, model=True).rows[0].origin)
broken = cp.RawKernel(edited.code.replace(barrier, ""), "tiled", options=kernel.options)
report = problem.one_block(broken, launch)
print(report.hazards[0].kind)
wrong = cp.RawKernel(edited.code.replace("float sum", "flaot sum"), "tiled", options=kernel.options)
try:
    problem.check(wrong, launch)
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
"""


def test_a_machine_without_a_compiler_checks_edited_kernels(service):
    """A Mac, imitated: none of NVIDIA's packages is there, and the service's address in the environment."""
    path = os.pathsep.join([str(ROOT / "tests" / "without_nvrtc"), str(ROOT)])
    more = {elsewhere.ADDRESS: f"http://127.0.0.1:{service.server_port}", "COURSE_BACKEND": "simulator"}
    done = subprocess.run(
        [sys.executable, "-c", ON_A_MAC],
        env=os.environ | {"PYTHONPATH": path} | more,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines and lines[0].startswith("check passed"), done.stdout + done.stderr
    assert lines[1].startswith("model of an H100"), "its machine code comes with a listing"
    assert "read-after-write" in lines and "CompileError kernel.cu(" in lines[-1]


def test_closing_a_pool_that_never_started():
    asyncio.run(Pool(Limits(at_once=1)).close())


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_who_goes_while_others_go_leaves_no_place_taken(gone):
    """The one at work and those that wait behind it, all at the same moment; one who waits stays."""

    async def served() -> list[str]:
        turns, began = Turns(Limits(at_once=1, waiting=8, share=1)), []

        async def client(name: str, seconds: float) -> None:
            async with turns.one("127.0.0.1"):
                began.append(name)
                await asyncio.sleep(seconds)

        clients = [asyncio.create_task(client(str(number), 60)) for number in range(gone)]
        await asyncio.sleep(0)
        stays = asyncio.create_task(client("stays", 0))
        await asyncio.sleep(0)
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        await asyncio.wait_for(stays, 5)
        async with asyncio.timeout(5), turns.one("127.0.0.2"):
            began.append("another")
        return began

    assert asyncio.run(served()) == ["0", "stays", "another"]
