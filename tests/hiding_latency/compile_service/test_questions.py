"""What may be asked: everything else is refused in a sentence, before a compiler sees it."""

import json
from dataclasses import asdict

import pytest

from cupy_or_sim.device import HOPPER, OPTIONS
from hiding_latency.compile_service.limits import Limits
from hiding_latency.compile_service.questions import LONGEST_OPTION, Question, Refused, read
from ptxsim.compiler import elsewhere, nvrtc

LIMITS = Limits()
SOURCE = 'extern "C" __global__ void k() {}'


def refusal(body):
    """Status and sentence."""
    with pytest.raises(Refused) as why:
        read(body if isinstance(body, bytes) else json.dumps(body).encode(), LIMITS)
    assert str(why.value).endswith(".") and len(str(why.value)) < 300
    return why.value.status, str(why.value)


@pytest.mark.parametrize(
    "options", [OPTIONS, HOPPER, ("-std=c++20", "-DN=4", "-fmad=false", "-maxrregcount=64")]
)
def test_what_lessons_ask_is_allowed(options):
    asked = read(json.dumps(elsewhere.question(nvrtc.wanted(SOURCE, options, ("f<3>",)))).encode(), LIMITS)
    assert asked.source == SOURCE and asked.names == ("f<3>",) and asked.kind == "ptx"
    for kind in ("log", "code"):
        assert read(json.dumps(elsewhere.question(nvrtc.wanted(SOURCE, options, kind=kind))).encode(), LIMITS)
    assert Question.of(json.loads(json.dumps(asdict(asked)))) == asked


@pytest.mark.parametrize(
    "option",
    [
        *("-I/etc", "-I", "--include-path=/etc", "-include", "--pre-include=/etc/passwd", "-include=/etc/passwd"),
        *("@/etc/passwd", "--pch", "--pch-dir=/etc", "-use-pch=/etc/passwd", "--create-pch=/etc/x", "-time=/etc/x"),
        *("--fdevice-time-trace=/etc/x", "-G", "--ptxas-options=-v", "-Xptxas", "--dlink-time-opt", "-rdc=true"),
        *('-DX="/etc/passwd"', "-DX=</etc/passwd>", "-DX=a b", "-D", "-arch=sm_80 -I/etc", "-std=c++17\n-I/etc", ""),
    ],
)  # fmt: skip
def test_an_option_that_may_name_a_file_is_refused(option):
    status, why = refusal({"source": SOURCE, "options": [option]})
    assert status == 400 and ("is not one of those that are allowed here" in why or "of options is" in why)


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"\xff\xfe", 400, "no JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b'{"source": ' + b"1" * 10_000 + b"}", 400, "no JSON|no source"),
        ([], 400, "no source"),
        ({"source": 3}, 400, "no source"),
        ({"source": "", "file": "/etc/passwd"}, 400, '"file"; allowed are source'),
        ({"source": "x" * 65_537}, 413, "65,537 bytes, and at most 65,536"),
        ({"source": "é" * 40_000}, 413, "80,000 bytes"),
        ({"source": "a\0b"}, 400, "number 0"),
        ({"source": "\ud800"}, 400, "half of a character"),
        ({"source": "", "options": "-std=c++17"}, 400, "options is no list"),
        ({"source": "", "options": [["-w"]]}, 400, "options is no list"),
        ({"source": "", "options": ["-w"] * 17}, 400, "17 options; at most 16"),
        ({"source": "", "names": ["x"] * 17}, 400, "17 names; at most 16"),
        ({"source": "", "names": ["x" * (LONGEST_OPTION + 1)]}, 400, "too long"),
        ({"source": "", "arch": "sm_80 -I/etc"}, 400, "write it like sm_80"),
        ({"source": "", "arch": 80}, 400, "arch is 80"),
        ({"source": "", "kind": "cubin"}, 400, "ptx, log or code"),
        ({"source": "", "kind": ["ptx"]}, 400, "ptx, log or code"),
        ({"source": "", "options": ["-DCOURSE_HEADERS=0x1"]}, 400, "load the page again"),
    ],
)
def test_a_refusal_says_what_was_given_and_what_is_allowed(given, status, words):
    got, why = refusal(given)
    assert got == status
    assert any(part in why for part in words.split("|")), why
