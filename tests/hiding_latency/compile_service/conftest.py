"""A service for all tests of this folder: its compilers take two seconds to start."""

import threading
from contextlib import contextmanager

import pytest

from hiding_latency.compile_service.limits import Limits
from hiding_latency.compile_service.server import Server

SECONDS = 2
"""Of work for a compilation: a good text takes a fifth of one."""


@contextmanager
def serving(root=None, names=(), origins=(), **limits):
    """A server on this machine, at a port that is free."""
    limits = Limits(**{"seconds": SECONDS, "patience": 60, "at_once": 2} | limits)
    server = Server(("127.0.0.1", 0), root, limits, names, origins)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True, scope="module")
def no_kept_texts(compiled_anew):
    """What a service compiles is what these tests look at."""


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """A folder that looks like a book."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.html").write_text("of the teacher")
    folder = outside / "book"
    (folder / "_static" / "live").mkdir(parents=True)
    (folder / "a lesson").mkdir()
    (folder / "index.html").write_text("<p>the book</p>" * 200)
    (folder / "a lesson" / "index.html").write_text("one")
    (folder / ".hidden").write_text("hidden")
    (folder / "_static" / "empty").mkdir()
    for name in ("python.wasm", "worker.mjs", "page.js", "course.zip", "lock.json", "numpy.whl", "x.unknown"):
        (folder / "_static" / "live" / name).write_bytes(b"0123456789" * 500)
    (folder / "leads_out.html").symlink_to(outside / "secret.html")
    (folder / "up").symlink_to(outside)
    (folder / "index_leads_out").mkdir()
    (folder / "index_leads_out" / "index.html").symlink_to(outside / "secret.html")
    return folder


@pytest.fixture(scope="session")
def service(book):
    with serving(book) as server:
        yield server
