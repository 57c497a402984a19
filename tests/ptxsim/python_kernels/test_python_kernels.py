"""`ptxsim.triton` and `ptxsim.numba`: what a launch of these compilers hands over, and what it does with it.

What the compilers are asked is tested everywhere, with their kept texts in the place of what they make; with extra
`compilers` the compilers themselves are, and the page that shows five of them."""

import importlib.util
import linecache
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

import ptxsim
from ptxsim.program import fixture
from ptxsim.python_kernels import compilers, triton_kernels
from tests.ptxsim.compilers.texts import PTX
from tests.rules import ROOT

PAGE = ROOT / "ptxsim/docs/compilers.md"
MODULES = {"Triton": "triton", "Numba": "numba_cuda", "CuTe DSL": "cutlass", "Warp": "warp", "pyptx": "pyptx"}
"""Of each compiler on the page."""
cuda = import_module("numba.cuda") if importlib.util.find_spec("numba_cuda") else None
"""As a kernel of Numba's names it."""


def needs(module):
    """A mark: this test needs a compiler."""
    here = importlib.util.find_spec(module) is not None
    return pytest.mark.skipif(not here, reason=f"needs {module} (make install WITH=compilers)")


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# ---- what the compilers are asked, without them


class Jitted:
    """As Triton's JITFunction, as far as it is looked at."""

    def __init__(self, fn, constants=(), left=()):
        self.fn, self.arg_names = fn, list(signature(fn).parameters)
        self.params = [
            SimpleNamespace(is_constexpr=name in constants, do_not_specialize=name in left)
            for name in self.arg_names
        ]


def layer_norm(x, gain, bias, y, n, eps, BLOCK):
    """The parameters of the kept kernel."""


@pytest.fixture
def asked(monkeypatch):
    """What Triton and Numba were asked to compile; they answer with a kept layer norm and a kept sum."""
    asked = []

    def compile_triton(source, target, options):
        asked.append((source, target, options))
        about = SimpleNamespace(num_warps=4, num_ctas=1, shared=1024, global_scratch_size=0)
        return SimpleNamespace(asm={"ptx": (PTX / "triton_layer_norm_sm_90.ptx").read_text()}, metadata=about)

    def compile_numba(function, types, **options):
        asked.append((function, types, options))
        return (PTX / "numba_total.ptx").read_text(), None

    modules = {
        "triton": SimpleNamespace(
            runtime=SimpleNamespace(JITFunction=Jitted),
            compiler=SimpleNamespace(ASTSource=lambda *of: of),
            backends=SimpleNamespace(compiler=SimpleNamespace(GPUTarget=lambda *of: of)),
            compile=compile_triton,
        ),
        "numba": SimpleNamespace(typeof=lambda arg: f"type of {np.asarray(arg).dtype}"),
        "numba.cuda": SimpleNamespace(compile_ptx=compile_numba),
    }
    monkeypatch.setattr(compilers, "import_module", modules.__getitem__)
    return asked


def test_triton_is_asked_as_its_own_launch_would(asked):
    x, gain, bias, y = normal(5, 200), normal(200), normal(200, seed=2), np.full((5, 200), np.nan, np.float32)
    kernel = Jitted(layer_norm, constants=("BLOCK",))
    report = ptxsim.triton(kernel, lambda given: (given["x"].shape[0],), (x, gain, bias, y, 208 - 8, 1e-5),
                           {"BLOCK": 256, "num_warps": 4}, gpu="A100")  # fmt: skip
    assert report.ok, report
    centred = x - x.mean(1, keepdims=True)
    wanted = centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gain + bias
    assert np.allclose(y, wanted, atol=1e-5)
    (function, types, constants, marks), target, options = asked[0]
    assert function is kernel and constants == {(6,): 256} and target == ("cuda", 80, 32)
    assert list(types.values()) == [*["*fp32"] * 4, "i32", "fp32", "constexpr"]
    assert set(marks) == {(0,), (1,), (2,), (3,)} and options["num_warps"] == 4  # 16 does not divide 200


@pytest.mark.parametrize(
    ("n", "kind"), [(1, "constexpr"), (16, "i32"), (2**31, "i64"), (2**63, "u64"), (True, "i1"), (None, "constexpr"),
                    (np.int8(3), "i8"), (2.0, "fp32"), (np.float64(2), "fp64"), (np.zeros(2, bool), "*i1"),
                    (np.zeros(2, np.uint16), "*u16")]
)  # fmt: skip
def test_tritons_type_of_an_argument(asked, n, kind):
    with suppress(ptxsim.LaunchError):  # the kept text has an n of 32 bits
        ptxsim.triton(Jitted(layer_norm, ("BLOCK",)), 1, (*[normal(4)] * 4, n, 1e-5), {"BLOCK": 2})
    assert asked[0][0][1]["n"] == kind
    assert ((4,) in asked[0][0][3]) == (kind == "*i1" or kind == "*u16" or (type(n) is int and n % 16 == 0))


def test_what_triton_shall_not_specialise_stays(asked):
    kernel = Jitted(layer_norm, constants=("BLOCK",), left=("n", "x"))
    ptxsim.triton(kernel, 0 + 1, (*[normal(1)] * 3, normal(1), 1, 1e-5), {"BLOCK": 256})
    (_, types, constants, marks), _, _ = asked[0]
    assert types["n"] == "i32" and (4,) not in constants and (0,) not in marks and (1,) in marks


def test_a_view_that_begins_elsewhere_is_not_marked_as_aligned(asked):
    ptxsim.triton(
        Jitted(layer_norm, ("BLOCK",)), 1, (normal(9)[1:], *[normal(9)] * 3, 8, 1e-5), {"BLOCK": 256}
    )
    assert (0,) not in asked[0][0][3] and (1,) in asked[0][0][3]


def test_types_that_numpy_has_not(asked):
    bits = np.zeros(200, np.uint16)
    given = (normal(200), bits, normal(200), normal(200), 200, 1e-5)
    ptxsim.triton(Jitted(layer_norm, ("BLOCK",)), 1, given, {"BLOCK": 256}, types={"gain": "*bf16"})
    assert asked[0][0][1]["gain"] == "*bf16"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((1, 2), r"layer_norm\(x, gain, bias, y, n, eps, BLOCK\): missing a required argument: 'bias'"),
        ((*[normal(4)] * 4, "n", 1e-5), "n is a str; pass NumPy arrays and scalars of numbers"),
        ((*[np.zeros(4, complex)] * 4, 4, 1e-5), "x is an array of complex128; pass"),
    ],
)
def test_arguments_that_do_not_fit(asked, args, words):
    with pytest.raises(ptxsim.LaunchError, match=words):
        ptxsim.triton(Jitted(layer_norm, ("BLOCK",)), 1, args, {"BLOCK": 256})
    assert not asked


def test_no_function_of_triton(asked):
    with pytest.raises(ptxsim.LaunchError, match=r"a function is no function under @triton.jit"):
        ptxsim.triton(layer_norm, 1, ())
    with pytest.raises(ptxsim.LaunchError, match=r"it holds one: pass SimpleNamespace.fn and its constants"):
        ptxsim.triton(SimpleNamespace(fn=Jitted(layer_norm)), 1, ())


def total(x, out):
    """The parameters of the kept kernel."""


def test_numba_is_asked_as_its_own_launch_would(asked):
    x, out = np.arange(300, dtype=np.float32), np.zeros(1, np.float32)
    jitted = SimpleNamespace(py_func=total, targetoptions={"fastmath": True})
    report = ptxsim.numba(jitted, 3, 128, (x, out), gpu="A100")
    assert report.ok and out[0] == x.sum()
    function, types, options = asked[0]
    assert function is total and types == ("type of float32",) * 2
    assert options["cc"] == (8, 0) and options["lineinfo"] and options["fastmath"] and not options["device"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((1,), r"total has 2 parameters \(x, out\), and 1 were given"),
        (((1, 2), 3), "x is a tuple; pass NumPy"),
    ],
)
def test_arguments_that_do_not_fit_numba(asked, args, words):
    with pytest.raises(ptxsim.LaunchError, match=words):
        ptxsim.numba(total, 1, 32, args)
    assert not asked


def test_a_compiler_that_is_missing_says_how_to_get_it(monkeypatch):
    def absent(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(compilers, "import_module", absent)
    for call, package in (ptxsim.triton, "triton"), (ptxsim.numba, "numba-cuda"):
        with pytest.raises(ptxsim.CompilerMissing, match=f"pip install {package}"):
            call(total, 1, 32, ())


def test_the_source_of_a_cell_is_what_ipython_keeps_of_it(monkeypatch):
    text = (PTX / "numba_total.ptx").read_text().replace('"numba_kernels.py"', '"/no/folder/cell.py"')
    assert ptxsim.from_ptx(text).source == ""
    monkeypatch.setitem(linecache.cache, "/no/folder/cell.py", (9, None, ["x = 1\n"], "/no/folder/cell.py"))
    assert ptxsim.from_ptx(text).source == "x = 1\n"


# ---- the fixture


def test_the_fixture_fails_with_the_report():
    check = fixture.no_hazards.__wrapped__()
    right = SimpleNamespace(ok=True)
    assert check(right) is right
    with pytest.raises(pytest.fail.Exception, match="ok=False"):
        check(SimpleNamespace(ok=False))


@pytest.mark.parametrize(
    ("before", "moved"),
    [("/gone/test_python_kernels.py", True), ("/gone/other.py", True), (np.__file__, False)],
)
def test_the_file_of_a_kept_text(before, moved):
    text = f'.visible .entry layer_norm(\n)\n{{\n.loc 1 5 0\nret;\n}}\n.file 1 "{before}"\n'
    assert (__file__ in triton_kernels._in_its_file(text, layer_norm)) is moved


# ---- with the compilers


def examples():
    """Of each heading of the page: its first program, and what it prints."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```.*?^```text\n(.*?)^```", text, re.M | re.S)
    return {heading: (program, printed) for heading, program, printed in found}


def test_the_page_has_all_five():
    assert examples().keys() == MODULES.keys()
    for program, _ in examples().values():
        assert len(program.splitlines()) <= 22


@pytest.mark.parametrize("heading", [pytest.param(h, marks=needs(m)) for h, m in MODULES.items()])
def test_each_program_of_the_page_prints_what_stands_there(heading, tmp_path):
    program, printed = examples()[heading]
    file = tmp_path / "program.py"
    file.write_text(program)
    ran = subprocess.run([sys.executable, file.name], cwd=tmp_path, capture_output=True, text=True)
    assert not ran.returncode, ran.stderr
    for line in printed.splitlines():
        assert any(each.startswith(line.removesuffix("...")) for each in ran.stdout.splitlines()), (
            line,
            ran.stdout,
        )


@needs("triton")
def test_triton_right_and_wrong():
    from tests.ptxsim.compilers import triton_kernels

    integers = np.random.default_rng(1).integers(-3, 4, (2, 128, 128)).astype(np.float16)
    for gpu in "A100", "H100":
        c = np.full((128, 128), np.nan, np.float32)
        constants = {"PROGRAMS": 4, "M": 64, "N": 64, "K": 32, "num_stages": 3}
        given = (*integers, c, 128, 128, 128)
        report = ptxsim.triton(triton_kernels.persistent, 4, given, constants, gpu=gpu, seed=3)
        assert report.ok and (c == integers[0].astype(np.float32) @ integers[1].astype(np.float32)).all(), (
            report
        )
    x, y = normal(4, 200), np.zeros((4, 200), np.float32)
    given = (x, normal(200), normal(200), y, 200, 1e-5)
    report = ptxsim.triton(triton_kernels.layer_norm_past_the_row, 4, given, {"BLOCK": 256})
    assert {hazard.kind for hazard in report.hazards} == {"out-of-bounds", "block-conflict"}
    assert "of y (float32, shape (4, 200))" in str(report) and str(report).startswith(
        "layer_norm_past_the_row:"
    )


@needs("triton")
def test_triton_takes_numbers_as_it_does_itself(tmp_path, monkeypatch):
    (tmp_path / "numbers_of_all_kinds.py").write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def scale(x, n, by, off, B: tl.constexpr):\n"
        "    at = tl.arange(0, B)\n    v = tl.load(x + at, mask=at < n)\n"
        "    tl.store(x + at, v * by * tl.where(off, 1, 2), mask=at < n)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from numbers_of_all_kinds import scale

    for by in 3, 2.5, 1, np.float64(2.5), np.int8(-3), np.float16(0.5):
        for off in False, True:
            for n in 1, 100, np.int64(100):
                x = np.ones(128, np.float32)
                report = ptxsim.triton(scale, 1, (x, n, by, off), {"B": 128})
                assert report.ok and (x[:n] == float(by) * (1 if off else 2)).all() and (x[n:] == 1).all(), (
                    report
                )
    x = np.ones(128, np.float32)
    assert ptxsim.triton(scale, 1, (x, 7, 2.5, True), {"B": 128}, types={"n": "i64", "by": "fp64"}).ok
    assert x[:8].tolist() == [2.5] * 7 + [1]


@needs("triton")
def test_a_text_that_triton_kept_names_the_file_of_today(tmp_path, monkeypatch):
    """The same program in another folder, when the first one is gone."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kept"))
    program, _ = examples()["Triton"]
    for folder, name in ("first", "program.py"), ("second", "program.py"), ("third", "other.py"):
        here = tmp_path / folder
        here.mkdir()
        (here / name).write_text(program)
        ran = subprocess.run([sys.executable, name], cwd=here, capture_output=True, text=True)
        assert "8 | tl.store(y + tl.program_id(0)" in ran.stdout, (folder, ran.stdout, ran.stderr)
        shutil.rmtree(here)


@needs("triton")
def test_the_line_of_a_load_is_its_statements(tmp_path, monkeypatch):
    """Triton's PTX names the line behind it: two loads that follow each other, and each in the last place."""
    (tmp_path / "two_loads.py").write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef two(x, y, n, B: tl.constexpr):\n"
        "    at = tl.arange(0, B)\n    a = tl.load(x + at)\n    b = tl.load(y + at, mask=at < n)\n"
        "    tl.store(x + at, a + b, mask=at < n)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from two_loads import two

    report = ptxsim.triton(two, 1, (normal(100), normal(100), 100), {"B": 128})
    assert [hazard.line for hazard in report.hazards] == [7], report
    report = ptxsim.triton(two, 1, (normal(128), normal(100), 128), {"B": 128})
    assert [hazard.line for hazard in report.hazards] == [8], report


@needs("numba_cuda")
def test_numba_right_and_wrong():
    from tests.ptxsim.compilers import numba_kernels

    generator = np.random.default_rng(1)
    a, b = (generator.integers(-3, 4, shape).astype(np.float32) for shape in ((32, 48), (48, 32)))
    c = np.full((32, 32), np.nan, np.float32)
    report = ptxsim.numba(numba_kernels.product, (2, 2), (16, 16), (a, b, c))
    assert report.ok and (c == a @ b).all(), report
    report = ptxsim.numba(
        numba_kernels.total_without_barrier, 3, 128, (a.ravel()[:300], np.zeros(1, np.float32))
    )
    assert {hazard.kind for hazard in report.hazards} == {"read-after-write"}


def scaled(x, factor, n):
    at = cuda.grid(1)
    if at < n:
        x[at] *= factor


@needs("numba_cuda")
def test_numba_takes_numbers_as_it_does_itself():
    for factor in 2, 2.5, np.float32(2.5), True:
        x = np.ones((4, 40), np.float32, order="F").ravel("F")
        assert ptxsim.numba(scaled, 2, 128, (x, factor, 100)).ok
        assert (x[:100] == np.float32(factor)).all() and (x[100:] == 1).all()
