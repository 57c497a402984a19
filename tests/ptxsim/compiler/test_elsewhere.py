"""Where there is no compiler, another machine's is asked: the same PTX, the same errors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cupy_or_sim.device import HOPPER, INCLUDE
from ptxsim.compiler import cache, elsewhere, nvrtc

SOURCE = 'extern "C" __global__ void of_elsewhere(float* x) { x[threadIdx.x] = 1; }'
KNOWN = nvrtc.all_headers([INCLUDE])


def answer(asked):
    """What a service answers."""
    options = (*asked["options"], f"-arch={asked['arch']}")
    try:
        made = nvrtc.compile_enclosed(
            asked.get("kind", "ptx"), asked["source"], asked.get("names", ()), options, KNOWN
        )
    except nvrtc.CompileError as error:
        return 422, {"error": str(error)}
    ptx = made.text if "kind" not in asked else ""
    return 200, {"ptx": ptx, "log": made.log, "lowered": made.lowered}


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


def test_machine_code_is_not_asked_for(no_compiler):
    elsewhere.ask_with(lambda _: pytest.fail("asked"))
    with pytest.raises(nvrtc.NvrtcMissing):
        nvrtc.machine_code(SOURCE, (), (), "sm_90")


def test_what_is_asked_names_no_folder():
    asked = elsewhere.question(nvrtc.wanted(SOURCE, HOPPER))
    assert asked["arch"] == "compute_90a" and asked["source"] == SOURCE
    assert not any(each.startswith(("-I", "-arch")) for each in asked["options"])


def test_an_address_in_the_environment_is_asked(no_compiler, monkeypatch):
    class Service(BaseHTTPRequestHandler):
        def do_POST(self):
            status, said = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        monkeypatch.setenv(elsewhere.ADDRESS, f"http://127.0.0.1:{server.server_port}/")
        assert ".entry of_elsewhere" in nvrtc.compile_ptx(SOURCE).ptx
        with pytest.raises(nvrtc.CompileError, match="identifier"):
            nvrtc.compile_ptx(SOURCE.replace("= 1", "= one"))
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(nvrtc.NvrtcMissing, match="no compile service answers at http://"):
        nvrtc.compile_ptx(SOURCE + "\n")
