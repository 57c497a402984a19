"""Archives as a page gets them: without what it has no use for, as bytecode where there is Node, made once."""

import gzip
import hashlib
import io
import json
import shutil
import zipfile

import pytest

from tools.live import packages
from tools.live.fetch import FOLDER, missing
from tools.live.packages import packed, zipped
from tools.live.pins import File, Pins, pins

MODULES = {
    "numpy/used.py": b"x = 1\n",
    "numpy/tests/test.py": b"",
    "numpy/used.pyi": b"",
    "numpy/f2py.py": b"",
}
WITHOUT = ("numpy/tests", "numpy/f2py.", "*.pyi")


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """A folder with one wheel, as the list has it."""
    wheel = tmp_path / "pyodide" / "numpy-1.0-py3.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in MODULES.items():
            archive.writestr(name, data)
    data = wheel.read_bytes()
    file = File(
        wheel.name, hashlib.sha256(data).hexdigest(), len(data), "numpy", "numpy", "1.0", ("numpy",), WITHOUT
    )
    monkeypatch.setattr(packages, "pins", lambda: Pins("0", "3.12", "2024_0", "emscripten", {}, (file,)))
    monkeypatch.setattr(packages, "node", lambda: None)
    monkeypatch.setattr(packages, "compile_in_place", lambda *_: False)
    return wheel.parent


def opened(folder) -> bytes:
    return gzip.decompress(next(folder.glob("*.whl.packed")).read_bytes())


def test_an_archive_has_what_a_page_needs_and_its_new_hash_stands_in_the_list(fetched):
    folder = packed(fetched)
    with zipfile.ZipFile(io.BytesIO(opened(folder))) as archive:
        assert archive.namelist() == ["numpy/used.py"]
    [about] = json.loads((folder / packages.LOCK).read_text())["packages"].values()
    assert about["sha256"] == hashlib.sha256(opened(folder)).hexdigest()


def test_it_is_made_once_and_anew_when_something_changed(fetched, monkeypatch):
    first = packed(fetched)
    monkeypatch.setattr(packages, "_make", None)
    assert packed(fetched) == first
    monkeypatch.undo()
    monkeypatch.setattr(packages, "_key", lambda: "another")
    monkeypatch.setattr(packages, "_make", lambda target, _: (target / "made").touch())
    assert (packed(fetched) / "made").exists() and not first.exists()


def test_the_same_files_are_the_same_archive(tmp_path):
    for order in (1, -1):
        folder = tmp_path / str(order)
        packages.write(folder, [*MODULES.items()][::order])
    assert zipped(tmp_path / "1") == zipped(tmp_path / "-1")


@pytest.mark.skipif(not shutil.which("node") or bool(missing()), reason="needs Node and `make live`")
def test_the_real_ones_keep_what_starts_python_and_docstrings_that_are_read():
    names = {file.name: file for file in pins().files if file.is_archive}
    library = names["python_stdlib.zip"]
    for name in ("encodings/cp437.py", "html/__init__.py", "email/message.py", "uuid.py", "codecs.py"):
        assert library.needs(name), name
    assert not library.needs("encodings/cp850.py") and not library.needs("doctest.py")
    folder = packed(FOLDER)
    with zipfile.ZipFile(
        io.BytesIO(gzip.decompress((folder / "python_stdlib.zip.packed").read_bytes()))
    ) as archive:
        assert "inspect.pyc" in archive.namelist() and "inspect.py" not in archive.namelist()
        assert b"Get useful information from live Python objects" not in archive.read("inspect.pyc")
        assert b"A library of helper utilities" in archive.read("_pyodide/_base.pyc")
