"""HTTP: who may ask, until when, and in which form."""

import argparse
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from hiding_latency.__main__ import main, parser
from hiding_latency.compile_service.server import sender_of
from hiding_latency.serve import BOOK, limits, origin, words
from tests.rules import ROOT

from .ask import GOOD, ask, error
from .conftest import serving

POST = b"POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def raw(server, *pieces, wait=0.0):
    """What comes back for these bytes, and after how many seconds the connection ended."""
    began, said = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(wait)
        except OSError:
            pass  # it was closed meanwhile
        try:
            while part := connection.recv(65536):
                said += part
        except OSError:
            pass
    return said, time.monotonic() - began


def test_a_page_finds_out_which_compiler_there_is(service):
    status, said, headers = ask(service, method="GET")
    assert status == 200 and re.fullmatch(r"NVRTC \d+\.\d+", said["compiler"])
    assert said["limits"]["text"] == 65536 and said["limits"]["seconds"] == service.limits.seconds
    assert headers["Cache-Control"] == "no-store" and "Access-Control-Allow-Origin" not in headers


def test_a_page_of_this_server_may_ask(service):
    own = f"127.0.0.1:{service.server_port}"
    for more in (
        {},
        {"Origin": f"http://{own}"},
        {"Origin": f"http://{own}", "Sec-Fetch-Site": "same-origin"},
    ):
        assert ask(service, GOOD % 20, headers=more)[0] == 200
    for host in (
        "localhost",
        f"localhost:{service.server_port}",
        "[::1]:80",
        "192.168.1.20:8000",
        socket.gethostname(),
    ):
        assert ask(service, GOOD % 20, headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "more",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_page_of_another_server_may_not_ask(service, more, method):
    assert error(service, GOOD % 20, method=method, headers=more) == (
        403,
        "Only pages of this server may ask its compiler: open the book from here.",
    )


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{80}",
        "",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "[",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/compile"])
def test_a_name_that_others_can_make_lead_here_is_refused(service, host, path):
    """DNS rebinding."""
    status, why = error(service, method="GET", path=path, headers={"Host": host.encode()})
    assert status == 403 and "open this server by its number" in why


@pytest.mark.parametrize(
    "hosts",
    [
        b"",
        b"Host: 127.0.0.1\r\nHost: evil.example\r\n",
        b"Host: a b\r\n",
        "Host: １\r\n".encode(),
        b"Host: evil.example@127.0.0.1\r\n",
    ],
)
def test_a_request_without_a_host_with_two_or_with_none_that_there_can_be_is_refused(service, hosts):
    said, _ = raw(service, b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert re.match(rb"HTTP/1.1 40[03] ", said) and b"book" not in said


def test_a_name_of_this_machine_can_be_told(book):
    with serving(book, names=["Room.example"]) as server:
        assert server.knows("room.example:8000") and not server.knows("other.example")


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"headers": {"Content-Type": "text/plain"}}, 400, "not marked as JSON"),
        ({"headers": {"Content-Type": "application/x-www-form-urlencoded"}}, 400, "not marked as JSON"),
        ({"body": b"x" * (300 << 10)}, 413, "at most 262,144 are read"),
        ({"headers": {"Content-Length": "-1"}}, 400, "send Content-Length"),
        ({"headers": {"Content-Length": "9" * 400}}, 413, "999999999999 bytes"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, 400, "send Content-Length"),
        ({"path": "/"}, 404, "Nothing takes a POST here but /api/compile"),
        ({"path": "/api/other"}, 404, "Nothing takes a POST"),
    ],
)
def test_a_request_in_another_form_is_refused(service, more, status, words):
    got, why = error(service, GOOD % 20, **more)
    assert got == status and words in why


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "<script>alert(1)</script>"]
)
def test_other_methods_are_not_known(service, method):
    status, said, headers = ask(service, method=method)
    assert (
        status in (400, 405)
        and b"<script>" not in bytes(str(said), "utf-8")
        and "Access-Control-Allow-Origin" not in headers
    )


@pytest.mark.parametrize(
    "request_",
    [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
     b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
     b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"\r\n" * 1000, b"GET / HTTP/1.1\r\nHost: " + b"a" * 70_000],
)  # fmt: skip
def test_what_is_no_request_ends_the_connection(book, request_):
    with serving(book, request=1.0) as server:
        said, seconds = raw(server, request_)
        assert b" 200 " not in said and seconds < 10
        assert ask(server, method="GET", path="/")[0] == 200


@pytest.mark.parametrize(
    "pieces",
    [
        [b"G"] * 20,
        [b"GET / HTTP/1.1\r\n", *[b"X: y\r\n"] * 20],
        [POST + b"Content-Length: 99\r\n\r\n", *[b" "] * 20],
        [b""],
        [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
    ],
    ids=["a line", "headers", "a body", "nothing", "and then nothing"],
)  # fmt: skip
def test_who_sends_a_byte_now_and_then_does_not_keep_a_connection(book, pieces):
    with serving(book, request=1.0) as server:
        _, seconds = raw(server, *pieces, wait=0.25)
        assert 0.9 < seconds < 1.0 + 0.25 * len(pieces) + 5
        if len(pieces) > 10:
            assert seconds < 3.5, "it was closed while they were still sending"


def test_connections_are_counted_of_each_sender_and_of_all(book):
    with serving(book, connections=4, share=0.5, request=2.0) as server:
        there = "127.0.0.1", server.server_port
        get = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        idle = [socket.create_connection(there) for _ in range(2)]
        time.sleep(0.2)
        said, _ = raw(server, get)
        assert said.startswith(b"HTTP/1.1 503 ") and b"2 are open from your address" in said
        assert ask(server, method="GET", path="/", sender="127.0.0.2")[0] == 200, "another is let in"
        time.sleep(0.2)
        idle += [socket.create_connection(there, source_address=("127.0.0.2", 0)) for _ in range(2)]
        time.sleep(0.2)
        assert ask(server, method="GET", path="/", sender="127.0.0.3")[0] == 503
        time.sleep(2.2)  # their time is over
        for sender in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            assert ask(server, method="GET", path="/", sender=sender)[0] == 200
        for connection in idle:
            connection.close()


def test_an_address_of_ipv6_counts_with_its_network():
    assert sender_of("2001:db8::1") == sender_of("2001:db8::2:3") != sender_of("2001:db8:0:1::1")
    assert sender_of("fe80::1%eth0") == sender_of("fe80::2") and sender_of("10.0.0.1") != sender_of(
        "10.0.0.2"
    )


def test_who_does_not_read_the_answer_is_left(book, monkeypatch):
    monkeypatch.setattr("hiding_latency.compile_service.server.SLOWEST", 10**9)
    monkeypatch.setattr("hiding_latency.compile_service.server.GRACE", 0.5)
    large = book / "large.bin"
    large.write_bytes(b"\0" * (30 << 20))
    with (
        serving(book, connections=1) as server,
        socket.create_connection(("127.0.0.1", server.server_port)) as connection,
    ):
        connection.sendall(b"GET /large.bin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        time.sleep(1.5)
        assert ask(server, method="GET", path="/")[0] == 200
    large.unlink()


def test_what_follows_a_refusal_is_not_read_as_a_request(service):
    inside = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    for refused in (POST.replace(b"/api", b"/none"), POST.replace(b"application/json", b"text/plain")):
        said, _ = raw(service, refused + f"Content-Length: {len(inside)}\r\n\r\n".encode() + inside)
        assert said.count(b"HTTP/1.1 ") == 1 and b"Connection: close" in said


INSIDE = b"GET /_static/live/page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SMALL = b'{"source": ""}'


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(INSIDE),
        POST
        + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (len(SMALL), len(SMALL + INSIDE))
        + SMALL,
        POST + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(SMALL) + SMALL,
        POST + b"Content-Length : %d\r\n\r\n" % len(SMALL) + SMALL,
        POST + b"Content-Length: 0x%x\r\n\r\n" % len(SMALL) + SMALL,
    ],
    ids=[
        "in the body of a GET",
        "two lengths",
        "a length and chunks",
        "a length with a space",
        "a length in hex",
    ],
)
def test_a_request_inside_a_request_gets_no_answer(book, first):
    """A proxy in front would give it to somebody else."""
    with serving(book, request=0.5) as server:
        said, _ = raw(server, first + INSIDE)
    assert said.count(b"HTTP/1.1 ") == 1 and b"javascript" not in said


def test_of_two_origins_none_counts(service):
    own = b"Origin: http://127.0.0.1\r\n"
    for origins in (own + b"Origin: http://evil.example\r\n", b"Origin: http://evil.example\r\n" + own):
        said, _ = raw(service, POST + origins + b"Content-Length: %d\r\n\r\n" % len(SMALL) + SMALL)
        assert said.startswith(b"HTTP/1.1 403 ")


def test_every_answer_says_what_a_page_may_do(service):
    for method, path, status in (
        ("GET", "/", 200),
        ("GET", "/none", 404),
        ("POST", "/", 404),
        ("GET", "/api/compile", 200),
    ):
        got, _, headers = ask(service, method=method, path=path)
        rules = headers["Content-Security-Policy"]
        assert got == status and "frame-ancestors 'self'" in rules and "object-src 'none'" in rules


def test_one_connection_carries_many_requests(service):
    asked = (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2
        + b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    )
    said, seconds = raw(service, asked)
    assert said.count(b"HTTP/1.1 200 OK") == 3 and seconds < 5


def started(*arguments):
    """The command, running, and its first lines."""
    command = [sys.executable, "-m", "hiding_latency", "serve", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("Ctrl-C"):
            break
    return process, "".join(said)


def test_the_command_says_what_it_does_and_stops(book):
    process, said = started(str(book), "--port", "0", "--at-once", "1")
    assert re.search(
        r"The course: http://127\.0\.0\.1:\d+/\nCompiler: NVRTC \d+\.\d+, 1 texts at a time\n", said
    )
    assert "Only this machine can open it" in said
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[0].strip() == "Stopped." and process.returncode == 0


def test_opened_to_the_network_it_says_what_that_means(book):
    process, said = started(str(book), "--port", "0", "--host", "0.0.0.0", "--at-once", "1")
    process.terminate()
    process.communicate(timeout=20)
    assert "Everybody who reaches this machine over the network" in said and "never" not in said
    assert "Nothing that\nthey send is run." in said and "0.0.0.0" not in said


@pytest.mark.parametrize(
    ("typed", "share"),
    [([], 1.0), (["--host", "0.0.0.0"], 0.25), (["--host", "0.0.0.0", "--one-address"], 1.0)],
)
def test_an_address_has_a_share_where_others_have_theirs(typed, share):
    most = limits(parser().parse_args(["serve", *typed]))
    assert most.share == share and most.of_one(most.connections) == 400 * share and most.of_one(2) >= 1


def test_what_cannot_be_served_is_said(book, capsys):
    assert main(["serve", str(book / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err
    with serving(book) as server:
        assert main(["serve", str(book), "--port", str(server.server_port)]) == 2
    assert re.search(r"127\.0\.0\.1:\d+ cannot be used: .*Try another --port", capsys.readouterr().err)


def test_without_a_book_it_compiles_all_the_same():
    with serving(None) as server:
        assert any("There is no book yet" in line for line in words("127.0.0.1", server, {"error": "None."}))
        assert ask(server, method="GET", path="/")[0] == 404
    assert parser().parse_args(["serve"]).host == "127.0.0.1" and BOOK.parts[-2:] == ("build", "course")


ELSEWHERE = "https://book.example.org"


def test_pages_of_an_origin_that_was_named_may_ask_and_no_others():
    with serving(origins=[ELSEWHERE]) as server:
        named = {"Origin": ELSEWHERE, "Sec-Fetch-Site": "cross-site"}
        status, said, headers = ask(server, GOOD % 1, headers=named)
        assert status == 200 and "ptx" in said and headers["Access-Control-Allow-Origin"] == ELSEWHERE
        status, said, headers = ask(server, "no C++", headers=named)
        assert status == 422 and headers["Access-Control-Allow-Origin"] == ELSEWHERE, "its page reads why"
        status, _, headers = ask(server, method="OPTIONS", headers=named)
        assert status == 204 and headers["Access-Control-Allow-Headers"] == "Content-Type"
        assert ask(server, headers={**named, "Content-Type": "text/plain"})[0] == 400
        for other in (
            "https://evil.example",
            "null",
            f"{ELSEWHERE}:444",
            "https://a.book.example.org",
            ELSEWHERE.upper(),
        ):
            for method in ("GET", "POST", "OPTIONS"):
                status, _, headers = ask(server, GOOD % 2, method=method, headers={"Origin": other})
                assert status == 403 and "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (ELSEWHERE, ELSEWHERE),
        (f"{ELSEWHERE}/", ELSEWHERE),
        ("HTTP://Localhost:8000", "http://localhost:8000"),
    ],
)
def test_an_origin_is_read(text, known):
    assert origin(text) == known


@pytest.mark.parametrize(
    "text", ["book.example.org", f"{ELSEWHERE}/book", "ftp://book.example.org", "*", "null", ""]
)
def test_what_is_no_origin_is_said(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is no origin; one is https://book"):
        origin(text)
