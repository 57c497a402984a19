"""Where there is no compiler, another machine's is asked: the same PTX, the same errors."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cupy_or_sim.device import HOPPER, INCLUDE
from ptxsim.compiler import cache, elsewhere, nvrtc

SOURCE = 'extern "C" __global__ void of_elsewhere(float* x) { x[threadIdx.x] = 1; }'
KNOWN = nvrtc.all_headers([INCLUDE])


def answer(asked):
    """What a service answers."""
    options, kind = (*asked["options"], f"-arch={asked['arch']}"), asked.get("kind", "ptx")
    try:
        made = nvrtc.compile_enclosed(kind, asked["source"], asked.get("names", ()), options, KNOWN)
    except nvrtc.CompileError as error:
        return 422, {"error": str(error)}
    return 200, {"ptx": "", "log": made.log, "lowered": made.lowered, kind: made.text}


@pytest.fixture
def no_compiler(monkeypatch):
    """Nothing is kept, and the compiler is not here; `answer` still has it."""
    here = nvrtc._made

    def missing(*_):
        raise nvrtc.NvrtcMissing("not here")

    monkeypatch.setattr(nvrtc, "_made", missing)
    monkeypatch.setattr(cache, "find", lambda *_: None)
    monkeypatch.setattr(elsewhere, "_known", {})
    monkeypatch.setattr(elsewhere, "_send", [])
    monkeypatch.delenv(elsewhere.ADDRESS, raising=False)
    nvrtc._compile.cache_clear()
    yield here
    nvrtc._compile.cache_clear()


def test_nobody_is_asked_unless_named(no_compiler):
    with pytest.raises(nvrtc.NvrtcMissing, match="not here"):
        nvrtc.compile_ptx(SOURCE)


def test_a_text_of_a_link_is_used(no_compiler):
    elsewhere.use(SOURCE, HOPPER, "// of a link")
    assert nvrtc.compile_ptx(SOURCE, (), HOPPER).ptx == "// of a link"
    with pytest.raises(nvrtc.NvrtcMissing):
        nvrtc.compile_ptx(SOURCE + " ", (), HOPPER)


def test_a_service_gives_what_a_compiler_gives(no_compiler, monkeypatch):
    elsewhere.ask_with(answer)
    template = "template <int N> __global__ void t(int* x) { *x = N; }"
    asked = [
        nvrtc.wanted(SOURCE, HOPPER),
        nvrtc.wanted(SOURCE, HOPPER, kind="log"),
        nvrtc.wanted(SOURCE, HOPPER, kind="code"),
        nvrtc.wanted(template, (), ("t<3>",)),
    ]
    there = [nvrtc._compile(*each) for each in asked]
    monkeypatch.setattr(nvrtc, "_made", no_compiler)
    nvrtc._compile.cache_clear()
    assert there == [nvrtc._compile(*each) for each in asked]
    assert nvrtc.resources(SOURCE, "of_elsewhere").registers > 0


def test_an_error_is_the_compilers_and_asked_for_once(no_compiler):
    times = []
    elsewhere.ask_with(lambda asked: times.append(asked) or answer(asked))
    for _ in range(2):
        with pytest.raises(nvrtc.CompileError, match=r'kernel.cu\(1\): error: identifier "one" is undefined'):
            nvrtc.compile_ptx(SOURCE.replace("= 1", "= one"))
    assert len(times) == 1


def test_a_service_that_has_no_answer_says_why(no_compiler):
    elsewhere.ask_with(lambda _: (429, {"error": "sixty wait already"}))
    with pytest.raises(nvrtc.NvrtcMissing, match="sixty wait already"):
        nvrtc.compile_ptx(SOURCE)


def test_what_is_asked_names_no_folder():
    asked = elsewhere.question(nvrtc.wanted(SOURCE, HOPPER))
    assert asked["arch"] == "compute_90a" and asked["source"] == SOURCE
    assert not any(each.startswith(("-I", "-arch")) for each in asked["options"])


@contextmanager
def served(reply):
    """The address of a service whose answers are `reply(asked)`: status and bytes."""

    class Service(BaseHTTPRequestHandler):
        def do_POST(self):
            status, body = reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def truly(asked):
    status, said = answer(asked)
    return status, json.dumps(said).encode()


def test_an_address_in_the_environment_is_asked_past_a_proxy(no_compiler, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with served(truly) as address:
        monkeypatch.setenv(elsewhere.ADDRESS, address)
        assert ".entry of_elsewhere" in nvrtc.compile_ptx(SOURCE).ptx
        with pytest.raises(nvrtc.CompileError, match="identifier"):
            nvrtc.compile_ptx(SOURCE.replace("= 1", "= one"))
    with pytest.raises(nvrtc.NvrtcMissing, match="no compile service answers at http://"):
        nvrtc.compile_ptx(SOURCE + "\n")


@pytest.mark.parametrize(
    ("host", "near"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("192.168.1.20", True), ("10.1.2.3", True),
     ("teacher.local", True), ("8.8.8.8", False), ("compiler.example", False), ("", False)],
)  # fmt: skip
def test_a_proxy_is_for_the_world_outside(host, near):
    assert elsewhere._is_near(host) is near


ODD = {
    "list": (200, b"[]"), "empty": (200, b"{}"), "null": (200, b"null"), "number": (200, b'{"ptx": 5}'),
    "names": (200, b'{"ptx": "", "lowered": {"k": 1}}'), "list of names": (200, b'{"ptx": "", "lowered": []}'),
    "no error": (422, b"{}"), "error list": (503, b'{"error": []}'), "moved": (302, b"{}"), "page": (500, b"<html>"),
    "binary": (200, bytes(range(256))), "nested": (200, b"[" * 100_000), "huge": (200, b" " * 5000 + b"{}"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_what_a_service_does_not_answer_is_said_in_words(no_compiler, monkeypatch, kind):
    monkeypatch.setattr(elsewhere, "LONGEST", 4000 if kind == "huge" else elsewhere.LONGEST)
    with served(lambda _: ODD[kind]) as address:
        monkeypatch.setenv(elsewhere.ADDRESS, address)
        with pytest.raises(
            nvrtc.NvrtcMissing,
            match=r"no compile service answers at .*|answered with status \d+, and not as one does",
        ):
            nvrtc.compile_ptx(SOURCE + f"// {kind}")
