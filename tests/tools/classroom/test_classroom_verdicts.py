"""Answers go from one process to another as data, and come out as they were; the check meets no code of a learner."""

import asyncio
import io
import json
import threading
import time
from functools import partial

import nbformat
import numpy as np
import pytest

from course_lib.notebooks.answers import lesson_09_program
from course_lib.notebooks.figures.programs import NONE_HERE
from cupy_or_sim import OPTIONS, Launch
from cupy_or_sim.cupy_on_numpy import RawKernel
from hiding_latency.compile_service.pool import Worker
from ptxsim.compiler import cache, elsewhere, nvrtc
from tests.tools.classroom.hand_ins import answers
from tests.tools.classroom.test_classroom import LESSON
from tools.classroom import judge, sandbox, verdicts, watch, wire
from tools.classroom.assignment import assignment
from tools.classroom.verdicts import Judge, NoVerdict


def sent(value, call=None):
    return wire.unpack(json.loads(json.dumps(wire.pack(value))), call)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, 1 << 80, -2.5, float("inf"), "a text \N{SNOWMAN}", (), [1, (2, "x")], {3, 4}),
        *({"a": 1, (1, 2): [None]}, Launch((64, 64, 8), (32, 8), 1024), Launch(blocks=132)),
        *(np.float32(0.1), np.int64(-7), np.bool_(True)),
    ],
)
def test_a_value_comes_out_as_it_was(value):
    assert sent(value) == value and type(sent(value)) is type(value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "bool"])
def test_an_array_comes_out_as_it_was(dtype):
    array = np.arange(24).reshape(2, 3, 4)[:, ::2].astype(dtype)
    made = sent(array)
    assert made.dtype == array.dtype and np.array_equal(made, array) and made.flags.writeable


def test_of_a_kernel_its_text_goes_over():
    made = sent((RawKernel("some text", "a", OPTIONS), 1))[0]
    assert (made.code, made.name, made.options) == ("some text", "a", OPTIONS)


def test_what_only_can_be_gone_through_comes_as_a_list():
    assert sent(range(3)) == [0, 1, 2] and sent(np.array(["a"], object)) == ["a"]
    assert repr(sent(...)) == "Ellipsis"


def test_a_function_stays_where_it_is():
    asked = []
    added, multiplied = sent(
        [lambda a, b: a + b, lambda a, b: a * b],
        lambda number, arguments: asked.append(arguments) or wire._functions[number](*arguments),
    )
    assert (added(3, 4), multiplied(3, 4)) == (7, 12) and asked == [(3, 4), (3, 4)]


@pytest.mark.parametrize(
    "made_up",
    [
        *([1], {"kind": "none"}, {"kind": "launch", "tile": 3}, {"kind": "launch", "__class__": 1}, {}),
        {"kind": "array", "dtype": "O", "shape": [1], "data": "AAAAAAAAAAA="},
        {"kind": "array", "dtype": "<f4", "shape": [9], "data": ""},
        {"kind": "function", "number": "__import__('os')"},
    ],
)
def test_what_somebody_made_up_is_not_read(made_up):
    verdict = judge.judged("00.1", made_up, io.StringIO())
    assert not verdict["ok"] and verdict["said"] == "00.1 not yet: the answer cannot be read."


def test_a_check_that_stops_at_an_answer_says_so(monkeypatch):
    def broken(name, answer):
        raise KeyError("x")

    monkeypatch.setattr(judge, "check_exercise", broken)
    assert judge.judged("00.1", 1, io.StringIO()) == {"unknown": "the check of 00.1 stops with KeyError: 'x'"}


def test_a_whole_program_of_a_learner_is_not_run(monkeypatch):
    monkeypatch.setenv(NONE_HERE, "1")
    answer = f"{lesson_09_program.KERNEL} int main() {{ cudaMallocHost(&x, 4); cudaDeviceSynchronize(); }}"
    given = judge.judged("09.3", wire.pack(answer), io.StringIO())
    assert not given["ok"] and "who grades runs no program of a learner" in given["said"]


@pytest.fixture
def process():
    if reason := sandbox.why_not():
        pytest.skip(reason)
    made = Judge({}, 2 << 30)
    yield made
    made.stop()


def packed(exercise, **parts):
    """The answer of an exercise of lesson 00 whose cell is run here."""
    scope = {}
    exec(answers(LESSON)[exercise].replace("None", "0"), scope)
    (name,) = (name for name, value in scope.items() if isinstance(value, str) and "__global__" in value)
    return wire.pack(RawKernel(scope[name], name, OPTIONS))


def test_the_process_judges_one_answer_after_the_other(process):
    assert process.verdict("00.3", packed("00.3"), None)["ok"]
    wrong = packed("00.3") | {"code": packed("00.3")["code"].replace("__syncthreads();", "")}
    given = process.verdict("00.3", wrong, None)
    assert not given["ok"] and given["said"].startswith("00.3 not yet: read-after-write at line")


def test_a_kernel_reaches_no_file_but_the_headers_it_may_include(process):
    """The judge can read the answers; what compiles for it cannot, whatever a text or its options ask for."""
    solution, answer = packed("00.3"), sandbox.ROOT / "notebooks" / "answers" / "lesson_00.py"

    def said(code, *options):
        given = process.verdict(
            "00.3", solution | {"code": code, "options": wire.pack((*OPTIONS, *options))}, None
        )
        assert not given["ok"]
        return given["said"]

    for name in answer, "/etc/passwd", "../../../notebooks/answers/lesson_00.py":
        for quoted in f'"{name}"', f"<{name}>":
            assert "directive: NOT" in said(
                f"#if __has_include({quoted})\n#error THERE\n#else\n#error NOT\n#endif\n"
            )
            opened = said(f"#include {quoted}\n")
            assert "cannot open source file" in opened and "import" not in opened
    marked = solution["code"].replace("__syncthreads();", f'\n#line 1 "{answer}"\n')
    first = answer.read_text(encoding="utf-8").splitlines()[0]
    assert "read-after-write" in said(marked) and first not in said(marked)
    for option in "-I/", f"--pre-include={answer}", f"--options-file={answer}", "-time=x.csv":
        assert said(solution["code"], option).startswith(f'00.3 not yet: The option "{option[:30]}')
    assert r"\x1b[2J" in said("#error \x1b[2J")
    assert process.verdict("00.3", solution, None)["ok"]


def test_a_function_is_asked_over_the_way_and_its_error_comes_back(process):
    asked = []

    def call(number, arguments):
        asked.append(wire.unpack(arguments))
        return {"error": ["TypeError", "a word"]} if len(asked) > 3 else {"value": 7}

    given = process.verdict("06.2", {"kind": "function", "number": 0}, call)
    assert "your function stops with TypeError: a word" in given["said"] and len(asked) == 4
    assert all(isinstance(each, tuple) for each in asked)


def test_after_a_function_that_never_came_back_the_next_answer_is_judged(process):
    def call(number, arguments):
        raise TimeoutError("the learner's kernel is gone")

    with pytest.raises(NoVerdict):
        process.verdict("06.2", {"kind": "function", "number": 0}, call)
    assert process.verdict("00.3", packed("00.3"), None)["ok"]


def test_an_answer_that_takes_too_much_gets_no_verdict_and_the_next_one_does(process, monkeypatch):
    monkeypatch.setattr("tools.classroom.verdicts.SECONDS", 30)
    process.most_memory = 1 << 20
    process.stop()
    process._start()

    def call(number, arguments):
        time.sleep(20 * watch.EVERY)  # a quick answer may be through before anybody looks
        return {"value": 7}

    with pytest.raises(NoVerdict, match="took more than"):
        process.verdict("06.2", {"kind": "function", "number": 0}, call)
    process.stop()
    process.most_memory = 2 << 30
    process._start()
    assert process.verdict("00.3", packed("00.3"), None)["ok"]


def test_machine_code_comes_from_the_worker(monkeypatch):
    """A check may ask what a kernel that nobody compiled before takes, or how long."""
    asked = ('extern "C" __global__ void k(float* C) { C[threadIdx.x] *= 41.5f; }', (), OPTIONS, "sm_90")
    wanted = nvrtc.machine_code(*asked)
    nvrtc._compile.cache_clear()
    loop, worker = asyncio.new_event_loop(), Worker(judge.LIMITS)
    heard = threading.Thread(target=loop.run_forever)
    heard.start()
    monkeypatch.setattr(nvrtc, "_none_because", "a worker has to do it")
    monkeypatch.setattr(elsewhere, "_send", [partial(judge.compiled, worker, loop)])
    monkeypatch.setattr(cache, "in_use", lambda: False)
    try:
        # a kept text may name the file by where it was compiled
        text = nvrtc.machine_code(*asked).text.replace('"/kernel.cu"', '"kernel.cu"')
        assert text == wanted.text.replace('"/kernel.cu"', '"kernel.cu"') and "FMUL" in text
        with pytest.raises(nvrtc.CompileError, match="no_such_name"):
            nvrtc.machine_code("__global__ void k() { no_such_name(); }", (), OPTIONS, "sm_90")
    finally:
        asyncio.run_coroutine_threadsafe(worker.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        heard.join()
        loop.close()
        nvrtc._compile.cache_clear()


def test_behind_endless_cells_the_next_ones_have_less_time():
    """Ten endless cells shall not take what the checks below them need; the assignment's own cells have all."""
    execute = pytest.importorskip("tools.classroom.execute", reason="make test WITH=classroom")
    step = execute.SandboxedExecute()
    made = assignment(nbformat.read(LESSON, as_version=4), "00")
    own = {cell.metadata.nbgrader.grade_id: cell for cell in made.cells if "nbgrader" in cell.metadata}
    cells = [own["needed"], own["answer-00-1"], own["check-00-1"], nbformat.v4.new_code_cell("mine = 1")]
    seconds = {}
    for step.endless in range(4):
        seconds[step.endless] = [step._seconds(cell) for cell in cells] + [step._fewer(verdicts.SECONDS)]
    assert seconds[0] == seconds[1] == [120] * 5
    assert seconds[2] == seconds[3] == [120, 30, 30, 30, 30]
