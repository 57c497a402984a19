"""What ships of the compiler's results: there, found by the right key only, and what the compiler makes now."""

import json
import os
import re
import subprocess
import sys

import pytest

from course_lib import kernel_source
from course_lib.lessons import sources
from course_lib.lessons.folders import COMPILED
from cupy_or_sim.device import HEADERS, options_for
from ptxsim.compiler import cache, nvrtc
from tests.kernels.lesson_cases import GEMMS, OTHERS
from tests.rules import ROOT
from tools.author.outputs import archive_of, compile_anew

NOTEBOOKS = sorted(sources.NOTEBOOKS.rglob("[0-9][0-9]_*.ipynb"))
ALL = bool(os.environ.get("COURSE_ALL_LESSONS"))
RENEW = "what ships of it is stale: run `make outputs`"
MOST_BYTES = 4_000_000


def ptx_inputs(source, names=()):
    options = options_for(source)
    arch = nvrtc.asked_arch(options).replace("sm_", "compute_")
    return "ptx", source, names, nvrtc._full_options(options, arch)


def without_nvrtc(*command, **environment):
    """Run a command as on a machine that has none of NVIDIA's packages."""
    path = os.pathsep.join([str(ROOT / "tests" / "without_nvrtc"), str(ROOT)])
    return subprocess.run(
        [sys.executable, *command],
        env=os.environ | {"PYTHONPATH": path, "COURSE_BACKEND": "simulator"} | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("notebook", "name"), [*OTHERS, *GEMMS], ids="-".join)
def test_every_kernel_of_the_lessons_ships(notebook, name):
    assert cache.find(cache.key_of(*ptx_inputs(kernel_source(notebook, name)))), RENEW


def test_each_notebook_has_its_file_and_no_file_is_left_over():
    assert set(COMPILED.rglob("*.zip")) == {archive_of(path) for path in NOTEBOOKS}, RENEW
    assert sum(path.stat().st_size for path in COMPILED.rglob("*.zip")) < MOST_BYTES


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_made_by_the_packages_of_the_lock(notebook):
    if not archive_of(notebook).exists():
        pytest.fail(RENEW)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    made_by = json.loads(cache.read(archive_of(notebook))[0])
    assert made_by.pop("machine") == "linux x86_64"
    assert [f"{name}=={version}" for name, version in made_by.items()] == [
        line for name in made_by for line in lock.splitlines() if line.startswith(f"{name}==")
    ], RENEW


@pytest.mark.parametrize(("notebook", "name"), [("00_start_here", "saxpy"), ("04_tensor_cores", "one_stage")])
def test_what_ships_is_what_the_compiler_makes_now(notebook, name):
    inputs = ptx_inputs(kernel_source(notebook, name))
    assert cache.find(cache.key_of(*inputs)) == nvrtc._fresh(*inputs), RENEW


@pytest.mark.skipif(not ALL, reason="minutes: COURSE_ALL_LESSONS=1 runs it")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_all_that_ships_is_what_the_compiler_makes_now(notebook, tmp_path, monkeypatch):
    """Among what a run of the notebook and of its solutions asks for: nothing differs, is missing or is left over."""
    monkeypatch.setenv(cache.KEEP, str(tmp_path))
    monkeypatch.setenv("COURSE_BACKEND", "simulator")
    assert compile_anew(notebook, tmp_path)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == cache.read(archive_of(notebook))[
        1
    ], RENEW


# ---- the key


def test_the_key_follows_source_options_names_kind_and_headers_but_not_their_place(tmp_path):
    def key(kind="ptx", source="#include <x.cuh>", names=("n",), options=("-DX=1", f"-I{tmp_path / 'a'}")):
        return cache.key_of(kind, source, names, options)

    for place in "ab":
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.cuh").write_text("int x;")
    first = key()
    assert key(options=("-DX=1", f"-I{tmp_path / 'b'}")) == first
    (tmp_path / "b" / "x.cuh").write_text("int y;")
    others = [
        key("log"),
        key(source="#include <x.cuh> "),
        key(names=()),
        key(options=("-DX=2", f"-I{tmp_path / 'a'}")),
    ]
    others.append(key(options=("-DX=1", f"-I{tmp_path / 'b'}")))
    assert len({first, *others}) == 6


def test_only_headers_that_are_included_count_and_through_another_one_too(tmp_path):
    def key(source="#include <x.cuh>\n"):
        return cache.key_of("ptx", source, (), (f"-I{tmp_path}", f"{HEADERS}0x1"))

    (tmp_path / "x.cuh").write_text('#pragma once\n  # include "deep/y.cuh"\n#include <z.cuh>\n')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "y.cuh").write_text("int y;")
    first = key()
    (tmp_path / "other.cuh").write_text("int other;")
    assert key() == first == cache.key_of("ptx", "#include <x.cuh>\n", (), (f"-I{tmp_path}", f"{HEADERS}0x2"))
    (tmp_path / "deep" / "y.cuh").write_text("int other_y;")
    assert key() != first
    (tmp_path / "none").mkdir()
    assert key("") == cache.key_of("ptx", "", (), (f"-I{tmp_path / 'none'}",))


# ---- when a text counts


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Instead of what ships: one text, "shipped", with the key "k"."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "k").write_text("shipped")
    cache.write(tmp_path / "00_a.zip", tmp_path / "texts")
    monkeypatch.setattr(cache, "FOLDERS", [tmp_path])
    monkeypatch.delenv(cache.KEEP, raising=False)
    cache._archives.cache_clear()
    yield tmp_path / "00_a.zip"
    monkeypatch.undo()
    cache._archives.cache_clear()


def test_a_text_is_made_once_for_a_folder_that_is_reused(archive, tmp_path, monkeypatch):
    (tmp_path / "reused").mkdir()
    monkeypatch.setenv(cache.REUSE, str(tmp_path / "reused"))
    made = []
    texts = [cache.kept("new", lambda: made.append("once") or "text\r\n") for _ in range(2)]
    assert (texts, made) == (["text\r\n"] * 2, ["once"])
    assert cache.kept("k", missing) == "shipped", "what ships comes first"


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe\x00", b"owned\n{}\n", None], ids=["empty", "binary", "foreign", "cut"]
)
def test_a_damaged_text_of_a_folder_that_is_reused_is_made_again(damage, tmp_path, monkeypatch):
    monkeypatch.setenv(cache.REUSE, str(tmp_path))
    made = []

    def text():
        return cache.kept("new", lambda: made.append("once") or "a text\n")

    assert text() == "a text\n"
    file = tmp_path / "new"
    file.write_bytes(file.read_bytes()[:-3] if damage is None else damage)
    assert [text(), text(), len(made)] == ["a text\n", "a text\n", 2]


def test_a_folder_that_cannot_be_reused_hinders_nothing(tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    (tmp_path / "file").touch()
    for folder in tmp_path, tmp_path / "file":
        monkeypatch.setenv(cache.REUSE, str(folder))
        assert cache.kept("new", lambda: "a text") == "a text"


def missing():
    raise cache.ToolMissing("not here")


def test_a_text_of_the_same_compiler_counts(archive):
    assert cache.kept("k", missing) == "shipped"
    assert cache.kept("other", lambda: "made") == "made"
    with pytest.raises(cache.ToolMissing):
        cache.kept("other", missing)


def test_a_text_of_another_compiler_counts_only_where_there_is_none(archive, monkeypatch):
    monkeypatch.setattr(cache, "made_by", lambda: "another compiler")
    assert cache.kept("k", lambda: "made") == "made"
    assert cache.kept("k", missing) == "shipped"


def test_what_can_be_made_here_is_made_whatever_is_kept(archive, tmp_path, monkeypatch):
    assert cache.made_here("k", lambda: "made") == "made"
    assert cache.made_here("k", missing) == "shipped"
    with pytest.raises(cache.ToolMissing):
        cache.made_here("other", missing)
    monkeypatch.setenv(cache.KEEP, str(tmp_path / "kept"))
    for key, make in ("k", missing), ("new", lambda: "made"):
        cache.made_here(key, make)
    kept = {file.name: file.read_text() for file in (tmp_path / "kept").iterdir()}
    assert kept == {"k": "shipped", "new": "made"}, "where nothing can be made, what ships goes on to ship"


def test_a_file_that_comes_later_counts_after_another_look(archive, tmp_path):
    assert cache.find("later") is None
    (tmp_path / "texts" / "later").write_text("came")
    cache.write(tmp_path / "01_b.zip", tmp_path / "texts")
    assert cache.find("later") is None
    cache.look_again()
    assert cache.find("later") == "came"


def test_while_texts_are_kept_all_are_made_anew(archive, monkeypatch, tmp_path):
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv(cache.KEEP, str(tmp_path / "kept"))
    assert cache.kept("k", lambda: "made\n") == "made\n"
    assert [(file.name, file.read_text()) for file in (tmp_path / "kept").iterdir()] == [("k", "made\n")]


def test_the_same_texts_give_the_same_bytes(archive, tmp_path):
    before = archive.read_bytes()
    archive.unlink()
    os.utime(tmp_path / "texts" / "k", (1, 1))
    assert cache.write(archive, tmp_path / "texts") == 1
    assert archive.read_bytes() == before
    assert cache.read(archive) == (cache.made_by(), {"k": "shipped"})


def test_a_file_with_the_same_texts_stays_as_it_is(archive, tmp_path):
    archive.write_bytes(archive.read_bytes() + b"written by another zlib")
    before = archive.read_bytes()
    cache.write(archive, tmp_path / "texts")
    assert archive.read_bytes() == before
    (tmp_path / "texts" / "k2").write_text("new")
    assert cache.write(archive, tmp_path / "texts") == 2
    assert cache.read(archive)[1] == {"k": "shipped", "k2": "new"}


def test_a_damaged_file_is_named(archive):
    archive.write_bytes(b"half")
    with pytest.raises(RuntimeError, match=r"00_a\.zip is damaged .*from where it came"):
        cache.find("k")


def test_no_path_of_a_machine_ships():
    texts = [text for path in COMPILED.rglob("*.zip") for text in cache.read(path)[1].values()]
    paths = {found for text in texts for found in re.findall(r'"([^"\n]*/[^"\n]*)"', text)}
    assert not {path for path in paths if path.startswith("/") or "site-packages" in path}


# ---- a machine without NVRTC


def test_this_is_how_nvrtc_is_hidden():
    done = without_nvrtc("-c", "from ptxsim.compiler import nvrtc; nvrtc.version()")
    assert "NvrtcMissing: cuda-bindings cannot be imported" in done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS if ALL else NOTEBOOKS[:1], ids=lambda path: path.stem)
def test_an_unedited_lesson_runs_without_nvrtc(path):
    """Checked output by output, and its solutions."""
    names = re.findall(r'check_exercise\(\\"(\d\d\.\d+)', path.read_text(encoding="utf-8"))
    tests = [
        f"tests/lessons/test_lesson_kernels.py::test_solution_passes[{name}]" for name in dict.fromkeys(names)
    ]
    options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval")
    done = without_nvrtc(*options, str(path.relative_to(ROOT)), *tests)
    assert not done.returncode, done.stdout[-3000:]
    assert " passed" in done.stdout


EDITED = """
from course_lib import OPTIONS, check_exercise, cp, kernel_source, show_env, simulate
show_env()
source = kernel_source("00_start_here", "saxpy")
kernel = cp.RawKernel(source.replace("a * x", "x * a"), "saxpy", options=OPTIONS)
try:
    kernel.compile()
except Exception as error:
    print(*error._render_traceback_(), sep="\\n")
"""


def test_an_edited_kernel_says_what_is_missing_and_where_to_go():
    done = without_nvrtc("-c", EDITED)
    assert "the lessons as they are; kernels that you edit do not run" in done.stdout
    for words in ("NvrtcMissing: ", "not edited", "pip install", "macOS", "Linux", "WSL", "Binder", "Colab"):
        assert words in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_no_folder_of_headers_is_read_where_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(cache, "FOLDERS", [])
    monkeypatch.delenv(cache.KEEP, raising=False)
    monkeypatch.setattr(cache, "key_of", lambda *inputs: pytest.fail("a key was asked for"))
    assert "k" in nvrtc.compile_ptx('extern "C" __global__ void k(int* x) { x[0] = 4711; }').ptx
