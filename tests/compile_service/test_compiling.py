"""Thirty who ask at once, and texts that are broken, endless, huge or hostile: each gets what is right for it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compile_service.limits import Limits
from compile_service.pool import Kept, Pool, Worker
from compile_service.questions import Question
from compile_service.worker import compiled
from course_lib import kernel_source
from cupy_or_sim.device import INCLUDE, OPTIONS
from ptxsim.compiler import cache, elsewhere, nvrtc
from tests.rules import ROOT

from .ask import DEEP, EAGER, ENDLESS, GOOD, LARGE, ask, error
from .conftest import SECONDS, serving


def process_of(server):
    """The number of the process that holds the compiler."""
    return server.pool._worker._process.pid


def copies(server):
    """Compilations at work."""
    number = process_of(server)
    return Path(f"/proc/{number}/task/{number}/children").read_text().split()


def test_a_kernel_of_a_lesson_becomes_what_ships_of_it(service):
    source = kernel_source("02_producer_consumer", "early_copy")
    wanted = nvrtc.wanted(source, OPTIONS)
    status, said, _ = ask(service, **elsewhere.question(wanted))
    assert status == 200 and nvrtc.packed(said["ptx"], said["lowered"]) == cache.find(cache.key_of(*wanted))


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ENDLESS % 150, f"was stopped after {SECONDS} seconds of work"),
        (EAGER % 1, "out of memory|stopped after"),
        (LARGE % 1, "broke off|stopped after"),
        (DEEP % 1, "broke off"),
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


@pytest.mark.parametrize("kind", ["ptx", "log"])
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
    thread = threading.Thread(target=ask, args=(service, ENDLESS % 151))
    thread.start()
    try:
        while not (at_work := copies(service)):
            time.sleep(0.05)
        time.sleep(0.3)
        limits = Path(f"/proc/{at_work[0]}/limits").read_text()
        open_files = {os.readlink(path) for path in Path(f"/proc/{at_work[0]}/fd").iterdir()}
    finally:
        thread.join()
    assert re.search(r"Max open files +0 +0", limits) and re.search(r"Max file size +0 +0", limits)
    assert sum(name.startswith("pipe:") for name in open_files) == 1
    assert all(name.startswith(("pipe:", "/dev/null")) for name in open_files)
    assert not copies(service), "nothing is left of it"


def test_thirty_at_once_get_each_their_own(service):
    """Every third one has a mistake, in a line of its own."""

    def learner(number):
        text = "\n" * number + (GOOD.replace("float", "int") % (1000 + number)).replace(
            "= ", "= wrong" if number % 3 == 0 else "= "
        )
        return ask(service, text)[:2]

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
        with ThreadPoolExecutor(2) as others:
            for number in (152, 153):
                others.submit(ask, server, ENDLESS % number)
            while server.pool._places._value:
                time.sleep(0.02)
            status, said, headers = ask(server, GOOD % 5)
        assert status == 429 and headers["Retry-After"] == "5"
        assert (
            said["error"]
            == "1 texts wait for the compiler, and no more are taken. Try it again in a few seconds."
        )
        assert ask(server, GOOD % 5)[0] == 200


def test_a_text_that_was_compiled_is_not_compiled_again(service, monkeypatch):
    asked = []
    original = Worker.ask
    monkeypatch.setattr(Worker, "ask", lambda worker, question: asked.append(1) or original(worker, question))
    answers = [ask(service, GOOD % 6)[:2] for _ in range(3)]
    assert len(asked) == 1 and answers[0] == answers[1] == answers[2]
    ask(service, GOOD % 6, arch="sm_90")
    assert len(asked) == 2
    with ThreadPoolExecutor(30) as room:
        list(room.map(lambda _: ask(service, GOOD % 7), range(30)))
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
        server.pool._worker._process.wait()
        assert ask(server, GOOD % 9)[0] == 200
        thread = threading.Thread(target=lambda: said.append(error(server, ENDLESS % 155)))
        said = []
        thread.start()
        while not copies(server):
            time.sleep(0.05)
        os.kill(process_of(server), signal.SIGKILL)
        thread.join()
        assert said == [(503, "The compiler was ended by the system. Try it again in a few seconds.")]
        assert ask(server, GOOD % 10)[0] == 200


def test_nothing_is_left_when_the_server_ends(book):
    with serving(book, at_once=2) as server:
        ask(server, GOOD % 11)
        thread = threading.Thread(target=ask, args=(server, ENDLESS % 156))
        thread.start()
        while not copies(server):
            time.sleep(0.05)
        left = [process_of(server), *map(int, copies(server))]
    thread.join()
    began = time.monotonic()
    while any(Path(f"/proc/{number}").exists() for number in left):
        assert time.monotonic() - began < 30
        time.sleep(0.1)


def test_a_machine_that_is_busy_is_not_the_learners_fault(book):
    with serving(book, seconds=30, patience=1.0) as server:
        status, why = error(server, ENDLESS % 157)
    assert status == 503 and why.endswith("busy: this text was not done in 1 seconds. Try it again.")


def test_some_that_never_end_leave_room_for_the_others(book):
    with serving(book, at_once=4, seconds=8) as server, ThreadPoolExecutor(3) as others:
        ask(server, GOOD % 14)
        for number in range(3):
            others.submit(ask, server, ENDLESS % (158 + number))
        while len(copies(server)) < 3:
            time.sleep(0.05)
        assert ask(server, GOOD % 15)[0] == 200 and len(copies(server)) == 3


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
    assert "read-after-write" in lines and "CompileError kernel.cu(" in lines[-1]


def test_closing_a_pool_that_never_started():
    Pool(Limits(at_once=1)).close()
