"""Which backend is chosen, and what the learner is told about it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib import show_env
from course_lib.lessons import sources
from cupy_or_sim import device
from ptxsim.compiler import nvrtc
from tests.lessons.reading import cells_of, text_of


def fake_cupy(major: int, minor: int, available: bool = True) -> SimpleNamespace:
    """CuPy as far as `device` looks at it."""
    properties = {"name": b"Fake GPU", "major": major, "minor": minor}
    runtime = SimpleNamespace(getDeviceProperties=lambda _: properties)
    cuda = SimpleNamespace(
        is_available=lambda: available, runtime=runtime, Device=lambda: SimpleNamespace(id=0)
    )
    return SimpleNamespace(cuda=cuda, __version__="14.2.0")


@pytest.fixture
def machine(monkeypatch):
    """Pretend to be another machine: machine(cupy module or None, value of COURSE_BACKEND or None)."""

    def pretend(cupy=None, wanted=None):
        if wanted is None:
            monkeypatch.delenv("COURSE_BACKEND", raising=False)
        else:
            monkeypatch.setenv("COURSE_BACKEND", wanted)
        # None in sys.modules makes `import cupy` fail, as where it is not installed.
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        forget()

    def forget():
        for cached in (device.backend, device.machine):
            cached.cache_clear()

    yield pretend
    monkeypatch.undo()
    forget()


def shown(capsys) -> str:
    show_env()
    return capsys.readouterr().out


def test_importing_the_course_loads_neither_cupy_nor_matplotlib():
    code = "import course_lib, sys; print(sorted({'cupy', 'matplotlib'} & set(sys.modules)))"
    root = Path(device.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads as Linux lists them")
def test_products_of_numpy_start_no_threads_that_spin():
    code = (
        "import course_lib, os, numpy as np; a = np.ones((300, 300)); a @ a; "
        "print(len(os.listdir('/proc/self/task')))"
    )
    root = Path(device.__file__).parents[1]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root, env=environment
    )
    assert done.stdout == "1\n"


def test_options_are_a_tuple_with_the_course_headers():
    assert isinstance(device.OPTIONS, tuple)
    assert device.OPTIONS[0] == "--std=c++17"
    assert Path(device.OPTIONS[1].removeprefix("-I"), "course").is_dir()


def test_an_edited_header_changes_the_options_and_so_cupys_cache_on_disk(tmp_path):
    package = Path(device.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))

    def options():
        code = "from cupy_or_sim.device import OPTIONS; print(*OPTIONS)"
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    before = options()
    assert options() == before
    with (tmp_path / "cupy_or_sim/include/course/tile.cuh").open("a") as header:
        header.write("// edited")
    assert options() != before


def test_without_cupy_the_simulator_is_used(machine, capsys):
    machine(cupy=None)
    assert device.backend() == "simulator"
    assert device.cp.__name__ == "cupy_or_sim.cupy_on_numpy"
    assert "backend  simulator: CuPy is not installed" in shown(capsys)


def test_cupy_without_a_gpu(machine, capsys):
    machine(fake_cupy(0, 0, available=False))
    assert device.backend() == "simulator"
    assert "no NVIDIA GPU with a working driver was found" in shown(capsys)


def test_a_gpu_of_capability_8(machine, capsys):
    cupy = fake_cupy(8, 0)
    machine(cupy)
    assert device.backend() == "cupy"
    assert device.cp is cupy
    text = shown(capsys)
    assert "GPU      Fake GPU, compute capability 8.0" in text
    assert "everything, on the GPU" in text


def test_an_older_gpu_is_not_used_and_the_reason_is_shown(machine, capsys):
    machine(fake_cupy(7, 0))
    assert device.backend() == "simulator"
    assert (
        "compute capability 7.5 is needed, for most kernels 8.0, and this is Fake GPU, compute capability 7.0"
        in shown(capsys)
    )


def test_a_gpu_without_cp_async_runs_the_first_lessons(machine, capsys):
    machine(fake_cupy(7, 5))
    assert device.backend() == "cupy"
    assert "lessons 00 and 01 on the GPU; the others, which copy with cp.async, in the simulator" in shown(
        capsys
    )
    device.only_on("8.0", or_newer=True)
    assert device.backend() == "simulator"
    assert "What follows needs 8.0 or newer: it runs in the simulator" in capsys.readouterr().out


def test_an_older_gpu_is_used_when_asked_for(machine):
    machine(fake_cupy(7, 5), wanted="cupy")
    assert device.backend() == "cupy"


def test_a_lesson_for_one_capability_runs_in_the_simulator_on_any_other(machine, monkeypatch, capsys):
    machine(fake_cupy(8, 0))
    device.only_on("9.0")
    assert device.backend() == "simulator" and device.cp.__name__.endswith("cupy_on_numpy")
    assert capsys.readouterr().out == (
        "Fake GPU, compute capability 8.0. What follows needs 9.0: it runs in the simulator.\n"
    )
    machine(fake_cupy(9, 0))
    device.only_on("9.0")
    machine(cupy=None)
    device.only_on("9.0")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("major", "minor"), [(10, 0), (12, 0)])
def test_a_newer_gpu_is_used_until_something_needs_just_one_capability(machine, capsys, major, minor):
    cupy = fake_cupy(major, minor)
    machine(cupy)
    device.only_on("9.0", or_newer=True)
    assert device.cp is cupy and capsys.readouterr().out == ""
    device.only_on("9.0")
    assert device.cp.__name__.endswith("cupy_on_numpy")
    assert capsys.readouterr().out == (
        f"Fake GPU, compute capability {major}.{minor}. What follows needs 9.0: it runs in the simulator.\n"
    )


def test_an_older_gpu_is_told_that_a_newer_one_will_do(machine, capsys):
    machine(fake_cupy(8, 9))
    device.only_on("9.0", or_newer=True)
    device.only_on("9.0")  # the simulator has it: there is nothing more to say
    assert device.backend() == "simulator"
    assert capsys.readouterr().out == (
        "Fake GPU, compute capability 8.9. What follows needs 9.0 or newer: it runs in the simulator.\n"
    )


# --- which of lesson 07's instructions are there on which GPU, as its text and the README say -----------------


def gate(cells: list[str], call: str) -> int:
    (found,) = (number for number, cell in enumerate(cells) if call in cell.splitlines())
    return found


def lesson_07() -> tuple[list[str], list[str]]:
    """Its code cells before the gate for wgmma, and behind it."""
    cells = [text_of(cell) for cell in cells_of("07_hopper") if cell["cell_type"] == "code"]
    cells = [re.sub(r"(only_on\(.*\)) *#.*", r"\1", cell) for cell in cells]
    first, second = gate(cells, 'only_on("9.0", or_newer=True)'), gate(cells, 'only_on("9.0")')
    assert first < second and "import cp" in cells[second]
    return cells[first:second], cells[second:]


def kernels_of_sitting_1() -> dict[str, str]:
    """Kernels that stand before that gate, with what they are put together from."""
    names: dict[str, str] = {}
    for cell in lesson_07()[0]:
        for name, before, text in re.findall(
            r'^(\w+) = (?:(\w+) \+ )?r"""(.*?)"""', cell, re.DOTALL | re.MULTILINE
        ):
            names[name] = names.get(before, "") + text
    return {name: source for name, source in names.items() if "__global__" in source}


ON_NEWER = {
    "multicast and clusters": """#include <course/cluster.cuh>
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const __grid_constant__ TensorMap A)
{
    __shared__ __align__(1024) unsigned char slot[16384];
    __shared__ Mbarrier full;
    cluster_sync();
    load_rows_shared<2>(128, slot, A, 0, 0, &full);
    mbarrier_arrive_at(&full, 1);
}""",
    "stmatrix": """#include <course/stmatrix.cuh>
extern "C" __global__ void kernel() { __shared__ __half box[1024]; stmatrix_x4(box + threadIdx.x * 8, 1, 2, 3, 4); }""",
    "setmaxnreg": """#include <course/wgmma.cuh>
extern "C" __global__ void __launch_bounds__(256) kernel() { fewer_registers<40>(); }""",
    "store": """#include <course/tma.cuh>
extern "C" __global__ void kernel(const __grid_constant__ TensorMap C)
{
    __shared__ __align__(1024) unsigned char box[8192];
    fence_async(), store_box(C, 0, 0, box), commit_stores(), wait_stores_read();
}""",
}


def made_for(source: str, arch: str) -> str:
    """The target of what NVRTC makes where CuPy puts a GPU's own architecture behind the options of lesson 07."""
    made = nvrtc._made(source, (), (*device.HOPPER, f"-arch={arch}"))
    assert made.cubin
    return re.search(r"^\.target (\w+)", made.ptx, re.MULTILINE)[1]


def test_wgmma_stands_behind_its_gate_alone():
    before, behind = map("\n".join, lesson_07())
    assert "wgmma" not in before and "wgmma" in behind
    assert {"turned", "as_it_lies", "difference"} == set(kernels_of_sitting_1())


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_all_but_wgmma_compiles_for_newer_gpus_too(arch):
    without_gaps = {name: source.replace("____", "") for name, source in kernels_of_sitting_1().items()}
    deeper = {name: sources.kernel_source("07_without_wgmma", name) for name in ["boxes_and_mma"]}
    for source in (without_gaps | deeper | ON_NEWER).values():
        assert made_for(source, arch) == f"{arch}a"


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_wgmma_does_not(arch):
    source = sources.kernel_source("07_hopper", "one_slot")
    assert made_for(source, "sm_90") == "sm_90a"
    with pytest.raises(nvrtc.CompileError, match=r"wgmma.* not supported on .target"):
        made_for(source, arch)


def test_the_simulator_can_be_asked_for_on_a_gpu(machine, capsys):
    machine(fake_cupy(9, 0), wanted="simulator")
    assert device.backend() == "simulator"
    assert "COURSE_BACKEND asks for it" in shown(capsys)


def test_asking_for_cupy_without_a_gpu_says_what_to_do(machine):
    machine(cupy=None, wanted="cupy")
    words = r"CuPy is not installed.*make EXTRA=cuda13.*EXTRA=cuda12.*unset COURSE_BACKEND"
    with pytest.raises(RuntimeError, match=words):
        device.backend()


def test_a_wrong_value_of_course_backend(machine):
    machine(wanted="gpu")
    with pytest.raises(ValueError, match="COURSE_BACKEND is 'gpu'; allowed are 'cupy' and 'simulator'"):
        device.backend()


def no_nvrtc():
    raise nvrtc.NvrtcMissing("not here")


@pytest.mark.parametrize("platform, words", [("darwin", "none for macOS"), ("linux", "`make install`")])
def test_without_nvrtc_it_says_what_still_works(machine, monkeypatch, capsys, platform, words):
    machine(cupy=None)
    monkeypatch.setattr(nvrtc, "version", no_nvrtc)
    monkeypatch.setattr(sys, "platform", platform)
    text = shown(capsys)
    assert "NVRTC    missing: " in text and words in text
    assert "works    the lessons as they are; kernels that you edit do not run" in text


def test_in_a_browser_it_says_where_the_gpus_part_begins(machine, monkeypatch, capsys):
    machine(cupy=None)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(nvrtc, "version", no_nvrtc)
    text = shown(capsys)
    assert "simulator: a browser reaches no GPU" in text and "a browser has none" in text
    assert "measurements recorded; edited kernels if" in text


@pytest.mark.parametrize("activated", [True, False])
def test_a_conda_environment_that_is_not_activated(machine, monkeypatch, capsys, tmp_path, activated):
    (tmp_path / "conda-meta").mkdir()
    machine(cupy=None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path) if activated else "")
    assert ("not activated" in shown(capsys)) is not activated
