"""The book over HTTP: right types, nothing from outside its folder."""

import gzip
import socket

import pytest

from hiding_latency.compile_service import files

from .ask import ask


def get(service, path, method="GET", **headers):
    return ask(service, method=method, path=path, headers=headers)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html?x=1", "text/html; charset=utf-8"),
        ("/_static/live/python.wasm", "application/wasm"),
        ("/_static/live/worker.mjs", "text/javascript; charset=utf-8"),
        ("/_static/live/page.js", "text/javascript; charset=utf-8"),
        ("/_static/live/numpy.whl", "application/zip"),
        ("/_static/live/x.unknown", "application/octet-stream"),
    ],
)
def test_a_file_has_the_type_that_a_browser_needs(service, book, path, kind):
    status, said, headers = get(service, path)
    name = path.partition("?")[0].lstrip("/") or "index.html"
    assert (status, headers["Content-Type"]) == (200, kind)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert said == (book / name).read_bytes()


def test_what_gets_smaller_is_packed_for_who_takes_it(service, book):
    path = "/_static/live/python.wasm"
    _, said, headers = get(service, path, **{"Accept-Encoding": "gzip, br"})
    assert headers["Content-Encoding"] == "gzip" and len(said) < 500
    assert gzip.decompress(said) == (book / path[1:]).read_bytes()
    _, _, headers = get(service, "/_static/live/course.zip", **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] is None


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("*", True), ("identity", False), ("gzip;q=0", False),
     ("gzip ; q=0.000, *", False), ("*;q=0", False), ("xgzip", False), ("", False)],
)  # fmt: skip
def test_gzip_is_for_who_takes_it(accepted, packed):
    assert files.takes_gzip(accepted) is packed


def test_a_changed_file_is_sent_anew_and_another_is_not(service, book):
    tag = get(service, "/_static/live/page.js")[2]["ETag"]
    assert get(service, "/_static/live/page.js", **{"If-None-Match": tag})[:2] == (304, b"")
    assert get(service, "/_static/live/page.js", **{"If-None-Match": '"old"'})[0] == 200
    file = book / "changing.js"
    file.write_bytes(b"a" * 3000)
    first = get(service, "/changing.js", **{"Accept-Encoding": "gzip"})
    file.write_bytes(b"b" * 3001)
    second = get(service, "/changing.js", **{"Accept-Encoding": "gzip"})
    assert gzip.decompress(second[1]) == b"b" * 3001 and first[2]["ETag"] != second[2]["ETag"]


def test_a_folder_is_its_first_page(service):
    status, _, headers = get(service, "/a%20lesson")
    assert (status, headers["Location"]) == (301, "./a%20lesson/")
    assert get(service, "/a%20lesson/")[1] == b"one"
    assert get(service, "/_static/empty/")[0] == 404, "no list of files"
    assert get(service, "/index_leads_out/")[0] == 404, "its first page is a link to elsewhere"


def test_head_has_no_body(service):
    status, said, headers = get(service, "/", "HEAD")
    assert (status, said, headers["Content-Length"]) == (200, b"", str(200 * len("<p>the book</p>")))


@pytest.mark.parametrize(
    "path",
    [
        *("/../secret.html", "/%2e%2e/secret.html", "/a%20lesson/../../secret.html", "/..%2fsecret.html"),
        *("/leads_out.html", "/up/secret.html", "/.hidden", "//etc/passwd", "/%2fetc%2fpasswd", "/a\\..\\x"),
        *("/index.html%00.js", "/none.html", "/index.html/x", "http://127.0.0.1/../secret.html", "/%ff%fe"),
        "/" + "a" * 5000,
    ],
)
def test_nothing_else_of_the_machine_is_sent(service, path):
    """Written by hand: a client would tidy the path."""
    with socket.create_connection(("127.0.0.1", service.server_port), timeout=10) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        said = b"".join(iter(lambda: raw.recv(65536), b""))
    assert said.startswith(b"HTTP/1.1 404 ") and b"of the teacher" not in said and b"root:" not in said


def test_without_a_book_there_is_none(book):
    assert files.find(book, "/index.html") == book / "index.html"
    assert files.find(book / "none", "/index.html") is None
