"""The files of Python for a browser: taken from folders and archives, and from nowhere if their hash is another."""

import hashlib
import io
import json
import tarfile
import zipfile

import pytest

from tools.live import fetch, pins
from tools.live.pins import File, Pins

GOOD, WHEEL = b"runtime", b"numpy's wheel"
FILES = {"pyodide.js": GOOD, "numpy-1.0-py3.whl": WHEEL}


@pytest.fixture
def pinned(monkeypatch):
    files = tuple(
        File(name, hashlib.sha256(data).hexdigest(), len(data), part, package, "1.0" if package else "")
        for (name, data), part, package in zip(
            FILES.items(), ("runtime", "numpy"), ("", "numpy"), strict=True
        )
    )
    known = Pins("0", "3.12", "2024_0", "emscripten", {"name": "p", "version": "1", "megabytes": 1}, files)
    monkeypatch.setattr(fetch, "pins", lambda: known)


def folder(path):
    for name, data in FILES.items():
        (path / "deep").mkdir(exist_ok=True)
        (path / "deep" / name).write_bytes(data)
    return path


def zipped(path):
    with zipfile.ZipFile(path / "a.whl", "w") as archive:
        for name, data in FILES.items():
            archive.writestr(f"assets/{name}", data)
    return path / "a.whl"


def tarred(path):
    with tarfile.open(path / "a.tar.bz2", "w:bz2") as archive:
        for name, data in FILES.items():
            about = tarfile.TarInfo(f"pyodide/{name}")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return path / "a.tar.bz2"


@pytest.mark.parametrize("place", [folder, zipped, tarred])
def test_files_are_taken_from_wherever_they_lie(pinned, tmp_path, place):
    there = tmp_path / "there"
    there.mkdir()
    said = fetch.fetch([place(there)], tmp_path / "here")
    assert len(said) == 2 and fetch.missing(tmp_path / "here") == []
    lock = json.loads((tmp_path / "here" / "pyodide-lock.json").read_text())
    assert lock["packages"]["numpy"]["file_name"] == "numpy-1.0-py3.whl"


def test_what_has_another_hash_is_not_taken_and_said(pinned, tmp_path):
    there = folder(tmp_path)
    (there / "deep" / "pyodide.js").write_bytes(b"another")
    with pytest.raises(fetch.FetchError, match=r"pyodide\.js: in .* it has another hash, and was not taken"):
        fetch.fetch([there], tmp_path / "here")
    assert not (tmp_path / "here" / "pyodide.js").exists()


def test_what_is_nowhere_is_said_and_a_later_step_takes_the_rest(pinned, tmp_path):
    there = folder(tmp_path)
    (there / "deep" / "pyodide.js").rename(tmp_path / "pyodide.js.away")
    with pytest.raises(fetch.FetchError, match=r"^pyodide\.js: not found$"):
        fetch.fetch([there], tmp_path / "here")
    (tmp_path / "deep" / "pyodide.js").write_bytes(GOOD)
    assert fetch.fetch([there], tmp_path / "here") == ["pyodide.js: 7 bytes"]


def test_a_file_that_was_changed_afterwards_counts_as_missing(pinned, tmp_path):
    fetch.fetch([folder(tmp_path)], tmp_path / "here")
    (tmp_path / "here" / "pyodide.js").write_bytes(b"RUNTIME")
    assert [file.name for file in fetch.missing(tmp_path / "here")] == ["pyodide.js"]


def test_the_list_names_what_a_page_loads():
    known = pins.pins()
    assert {"pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"} == {
        file.name for file in known.of("runtime")
    }
    assert [file.package for file in known.of("numpy")] == ["numpy"]
    assert all(len(file.sha256) == 64 and file.bytes for file in known.files)
    worker = (fetch.ROOT / "tools" / "live" / "page" / "worker.js").read_text(encoding="utf-8")
    assert all(f'"{file.package}"' in worker for file in known.of("numpy", "figures"))
