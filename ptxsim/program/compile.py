"""The program and the runtime library it is linked with: built by nvcc and the host's C++ compiler.

nvcc divides each file as it always does; its device part stays PTX, uncompressed, with lines. The library is built once
for a version of CUDA and kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Lock
from time import time
from typing import NamedTuple

from ..ground import whole
from ..ground.interrupts import MessageOnly
from . import cuda12
from .kept import Kept, headers_in

SHIM = Path(__file__).parent / "shim"
HEADERS = Path(__file__).parent / "headers"
"""Of libraries that are not here: for programs that include them and may never come to call them."""
OF_CUDA12 = HEADERS / "cuda12"
"""They come before CUDA's own, and add what it has no more."""
OLDEST = 12
"""CUDA's oldest version whose nvcc will do."""
PIP = 'pip install "./ptxsim[nvcc]" in a clone of its repository'
CURAND = "pip install nvidia-curand"
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
OBJECTS = (".o", ".a", ".so")
LIBRARIES = {
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cufft": "cuFFT",
    "curand": "cuRAND",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "nccl": "NCCL",
    "npp": "NPP",
    "nvjpeg": "nvJPEG",
    "cutensor": "cuTENSOR",
    "cufile": "cuFile",
    "nvshmem": "NVSHMEM",
}
"""Of NVIDIA's libraries whose kernels nobody may read, the beginnings of their functions' names."""
HANDLES = re.compile(r"cublasLt(Create|Destroy)$")
"""Of their functions those that launch nothing: a program may call them."""


class BuildError(MessageOnly, Exception):
    """The program could not be built: what the compiler said, or what is missing."""


class NoCompiler(BuildError):
    """Nothing can be built here: nvcc, or the host's compiler, is missing."""


@dataclass(frozen=True)
class Toolkit:
    """An nvcc, and the folder of CUDA's headers that belong to it."""

    nvcc: str
    include: str
    version: int
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Build:
    """What to build. `sources` may hold objects, or be one executable. `options` go to nvcc as they are.
    `cuda12`: with the names that CUDA had until then."""

    sources: tuple[str, ...]
    options: tuple[str, ...] = ()
    arch: str = "90"
    std: str = "c++17"
    libraries: tuple[str, ...] = ()
    cuda12: bool = True

    @property
    def number(self) -> int:
        """Raises ValueError."""
        found = re.fullmatch(r"([1-9]\d{1,2})[a-z]?", self.arch)
        if not found:
            raise ValueError(
                f"--arch {self.arch} is no compute capability: give one such as 80, 86, 90 or 90a"
            )
        return int(found[1])


@dataclass
class Built:
    """`program` is run with `folder`, of the runtime library, where the loader looks."""

    program: Path
    folder: Path
    notes: tuple[str, ...] = ()


OURS = tuple(
    f"-l{name}"
    for name in (
        *("cudart", "cudart_static", "cudadevrt", "cuda"),
        *("cublas", "cublasLt", "curand", "nccl", "nvidia-ml"),
    )
)
"""Libraries in whose place the shim stands. What it has not of them stops the program where it is called."""


def build(wanted: Build, folder: Path) -> Built:
    """Into an empty folder. Raises BuildError."""
    _check_sources(wanted)
    if _is_executable(wanted.sources[0]):
        return Built(Path(wanted.sources[0]).resolve(), runtime_library(toolkit()).parent)
    tools, compilers = toolkit(), _Compilers()
    objects_of = _Objects(tools, wanted, folder, compilers)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            shim = pool.submit(runtime_library, tools)
            making = [pool.submit(objects_of.of, source, n) for n, source in enumerate(wanted.sources)]
            library, made = shim.result(), [each.result() for each in making]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            compilers.end()
            raise
    objects = [each.file for each in made]
    wants = _wanted_of_others(objects)
    if not {OPENMP, GOMP} & {*wanted.options, *wanted.libraries} and any(map(OF_OPENMP, wants)):
        with_it = replace(wanted, options=(*wanted.options, OPENMP), libraries=(*wanted.libraries, GOMP))
        built = build(with_it, folder)
        note = f"the program uses OpenMP, and was built with --option={OPENMP} {GOMP}"
        return replace(built, notes=(*built.notes, note))
    missing = _missing(wants, library)
    program = folder / "program"
    more = [str(_stubs(missing, folder))] if missing else []
    command = [
        *(_host_compiler(), "-o", str(program), *map(str, objects), *more, str(library)),
        *(each for each in wanted.libraries if each not in OURS),
        *("-lpthread", "-ldl", "-lm"),
    ]
    done = subprocess.run(command, capture_output=True, errors="surrogateescape", check=False)
    if done.returncode:
        raise BuildError(_why_not_linked(done.stderr))
    return Built(program, library.parent, (*_of_clocks(wants), *_of_names(made, tools, wanted)))


OPENMP, GOMP = "-Xcompiler=-fopenmp", "-lgomp"
OF_OPENMP = re.compile(r"omp_[a-z]|GOMP_").match
"""What turns OpenMP on, and the names of its functions."""
CLOCKS = re.compile(
    r"(cudaEventElapsedTime\w*|gettimeofday|clock(_gettime)?|ftime|omp_get_wtime|_ZNSt6chrono3_V2\d+\w+_clock3nowEv)$"
)
"""What a program takes times with. (`time` is mostly asked for a beginning of random numbers.)"""


def _of_clocks(wants: set[str]) -> list[str]:
    timed = any(map(CLOCKS.match, wants))
    return ["times that the program measures are the simulator's, no GPU's"] * timed


def _of_names(made: Sequence[Object], tools: Toolkit, wanted: Build) -> tuple[str, ...]:
    if not _of_cuda12(tools, wanted):
        return ()
    libraries = (Path(tools.include), HEADERS, Path("/usr"), *_headers_of_packages(tools))
    read = {file.resolve() for each in made for file in each.read}
    own = sorted(file for file in read if not any(map(file.is_relative_to, libraries)))
    names = cuda12.supplied(map(cuda12.text_of, own))
    return (cuda12.note(tools.version, names),) if names else ()


@cache
def toolkit() -> Toolkit:
    """Of a CUDA toolkit on PATH if its version will do, else of the Python packages. Raises NoCompiler."""
    _host_compiler()
    found = next(chain.from_iterable(look() for look in (_on_path, _of_packages)), None)
    if not found:
        nvcc = shutil.which("nvcc")
        older = f" ({nvcc} is older)" if nvcc and 0 < _version(nvcc) < OLDEST * 1000 else ""
        raise NoCompiler(
            f"there is no nvcc of CUDA {OLDEST} or later on PATH{older}, nor in this Python: {PIP}"
        )
    return found


def tool_beside_nvcc(name: str) -> str:
    """ptxas, or another tool. Raises OSError."""
    try:
        found = Path(os.path.realpath(toolkit().nvcc)).with_name(name)
    except BuildError as reason:
        raise OSError(str(reason)) from None
    if not found.exists():
        raise OSError(f"there is no {name} beside nvcc")
    return str(found)


def runtime_library(tools: Toolkit) -> Path:
    """The shim, as libcudart.so of that version. Raises BuildError."""
    texts = b"".join(
        path.read_bytes()
        for path in (*sorted(SHIM.glob("*.*")), *sorted(HEADERS.glob("*.h")), Path(__file__))
    )
    key = hashlib.sha256(repr((texts, tools.version, tools.include)).encode()).hexdigest()[:16]
    folder = _kept() / key
    library = folder / f"libcudart.so.{tools.version // 1000}"
    hashed = folder / "sha256"
    if _is_whole(library, hashed):
        return library
    try:
        names = folder / "versions"
        # as NVIDIA's calls it: programs ask for that
        whole.write(names, f"{library.name} {{ global: *; }};\n")
        with whole.replaced(library) as made:
            _build_runtime(tools, library.name, names, Path(made.name))
        whole.write(hashed, _hash(library))
    except OSError as reason:
        raise BuildError(
            f"the runtime library is kept in {folder}, which cannot be written ({reason.strerror}): "
            "set XDG_CACHE_HOME to a folder that can"
        ) from None
    return library


def _is_whole(library: Path, hashed: Path) -> bool:
    """Whether a library has the hash that was noted when it was built: a full disk, or an end of the machine, may have
    damaged it."""
    try:
        return hashed.read_text(encoding="utf-8") == _hash(library)
    except (OSError, UnicodeDecodeError):
        return False


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _build_runtime(tools: Toolkit, name: str, names: Path, made: Path) -> None:
    command = [
        *(_host_compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", f"-Wl,-soname,{name}"),
        *(
            f"-Wl,--version-script={names}",
            f"-I{tools.include}",
            f"-I{HEADERS}",
            str(SHIM / "shim.cpp"),
            "-o",
            str(made),
        ),
        *("-lpthread", "-ldl"),
    ]
    done = subprocess.run(command, capture_output=True, errors="surrogateescape", check=False)
    if done.returncode:
        raise BuildError(
            f"the runtime library could not be built with the headers in {tools.include}:\n{done.stderr}"
        )


def _kept() -> Path:
    """Where the library is kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ptxsim")


def _host_compiler() -> str:
    found = shutil.which("g++")
    if not found:
        raise NoCompiler("there is no g++: the program's own code, which the host runs, needs a C++ compiler")
    return found


def _on_path() -> list[Toolkit]:
    nvcc = shutil.which("nvcc")
    if nvcc is None or (version := _version(nvcc)) < OLDEST * 1000:
        return []
    said = subprocess.run(
        [nvcc, "--dryrun", "x.cu"], capture_output=True, errors="surrogateescape", check=False
    ).stderr
    top = re.search(r"^#\$ TOP=(.+)$", said, re.M)
    include = Path(top[1], "include") if top else Path(os.path.realpath(nvcc)).parents[1] / "include"
    return (
        [Toolkit(nvcc, str(include.resolve()), version)] if (include / "cuda_runtime_api.h").exists() else []
    )


def _of_packages() -> list[Toolkit]:
    for place in sys.path:
        for root in sorted(Path(place).glob("nvidia/cu1[2-9]"), reverse=True):
            nvcc = root / "bin/nvcc"
            if nvcc.exists() and (version := _version(str(nvcc))) >= OLDEST * 1000:
                include = str(root / "include")
                return [Toolkit(str(nvcc), include, version, (f"-I{include}", f"-I{include}/cccl"))]
    return []


def _headers_of_packages(tools: Toolkit) -> list[Path]:
    """Those that the Python packages of that CUDA bring along, such as curand_kernel.h of nvidia-curand."""
    folders = [Path(place, f"nvidia/cu{tools.version // 1000}/include") for place in sys.path]
    return [folder for folder in folders if folder.is_dir()]


@cache
def _said_of_version(nvcc: str) -> str:
    try:
        return subprocess.run(
            [nvcc, "--version"], capture_output=True, errors="surrogateescape", check=False
        ).stdout
    except OSError:
        return ""


def _version(nvcc: str) -> int:
    """13000 for CUDA 13.0; 0 where it does not say."""
    found = re.search(r"release (\d+)\.(\d+)", _said_of_version(nvcc))
    return int(found[1]) * 1000 + int(found[2]) * 10 if found else 0


def _check_sources(wanted: Build) -> None:
    kinds = f"sources ({', '.join(SOURCES)}), objects ({', '.join(OBJECTS)}) or one executable"
    for number, source in enumerate(wanted.sources):
        if not Path(source).exists():
            own = f". Arguments of the program stand behind --: -- {source}" if number else ""
            raise BuildError(f"{source}: there is no such file{own}")
        if Path(source).is_dir():
            raise BuildError(f"{source} is a folder: give the program's files, which are {kinds}")
        if Path(source).suffix in (*SOURCES, *OBJECTS):
            continue
        if not _is_executable(source):
            raise BuildError(f"{source} is none of the files that a program is built from: {kinds}")
        if len(wanted.sources) > 1:
            raise BuildError(f"{source} is an executable, which is given alone: its files are in it already")


def _is_executable(source: str) -> bool:
    path = Path(source)
    return path.suffix not in (*SOURCES, *OBJECTS) and path.is_file() and os.access(path, os.X_OK)


class _Compilers:
    """Those at work, each a group of processes. Where one finds a mistake, or somebody stops the build, all end."""

    def __init__(self) -> None:
        self._lock, self._at_work, self._ended = Lock(), set[subprocess.Popen[str]](), False

    def run(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """`folder`: for what it writes for itself."""
        with self._lock:
            if self._ended:
                return subprocess.CompletedProcess(command, -signal.SIGTERM, "", "")
            started = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                errors="surrogateescape",
                env=os.environ | {"TMPDIR": str(folder)},
                start_new_session=True,
            )
            self._at_work.add(started)
        printed, said = started.communicate()
        with self._lock:
            self._at_work.discard(started)
        return subprocess.CompletedProcess(command, started.returncode, printed, said)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            for each in self._at_work:
                with suppress(ProcessLookupError):
                    os.killpg(each.pid, signal.SIGTERM)


class Object(NamedTuple):
    """`read`: what the compiler read for it, as it noted itself; nothing for one that was there before."""

    file: Path
    read: Sequence[Path] = ()


class _Objects:
    """Makes them in a folder, or takes them from those that are kept."""

    def __init__(self, tools: Toolkit, wanted: Build, folder: Path, compilers: _Compilers) -> None:
        self.tools, self.wanted, self.folder, self.compilers = tools, wanted, folder, compilers
        self.kept = Kept(_kept() / "objects")

    def of(self, source: str, number: int) -> Object:
        if Path(source).suffix in OBJECTS:
            return Object(Path(source).resolve())
        made, began = self.folder / f"{number}.o", time()
        command = self._command(source)
        recipe = self._recipe(source, command)
        if (read := self.kept.read(recipe, made)) is not None:
            return Object(made, read)
        noted = made.with_suffix(".d")
        done = self.compilers.run([*command, "-o", str(made), "-MD", "-MF", str(noted)], self.folder)
        if done.returncode:
            raise BuildError(_why_not_compiled(done.stderr or done.stdout, self.wanted, self.tools.version))
        read = _files_noted(noted)
        self.kept.write(recipe, made, read, began)
        return Object(made, read)

    def _command(self, source: str) -> list[str]:
        tools, wanted, virtual = self.tools, self.wanted, f"compute_{self.wanted.arch}"
        return [
            *(tools.nvcc, "-c", str(Path(source).resolve()), f"-std={wanted.std}", "-O2", "-g"),
            *(f"-arch={virtual}", f"-code={virtual}", "-lineinfo", "--no-compress", "--cudart=none"),
            *("-Wno-deprecated-gpu-targets", *_of_cuda12(tools, wanted), *wanted.options, *tools.more),
            *(f"-Xcompiler=-idirafter,{folder}" for folder in (*_headers_of_packages(tools), HEADERS)),
        ]

    def _recipe(self, source: str, command: Sequence[str]) -> list[object]:
        """All that says what the compiler makes, but for the files that it reads."""
        about = os.stat(host := _host_compiler())
        heard = {name: value for name, value in os.environ.items() if OF_COMPILERS.match(name)}
        given = re.findall(r"^-I(.+)$", "\n".join(self.wanted.options), re.M)
        headers = headers_in(map(Path, (Path(source).resolve().parent, *given)))
        compilers = (_said_of_version(self.tools.nvcc), host, about.st_size, about.st_mtime_ns)
        return [command, compilers, sorted(heard.items()), os.getcwd(), headers]


OF_COMPILERS = re.compile(r"NVCC_|(C|CPLUS)?_?(INCLUDE_)?PATH$|GCC_|COMPILER_PATH$|PTXAS_")
"""Variables of the environment that compilers go by."""


def _files_noted(noted: Path) -> list[Path]:
    """Of a rule as `make` reads it."""
    text = noted.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    files = re.findall(r"(?:\\.|\S)+", text.partition(" : ")[2])
    return [Path(re.sub(r"\\(.)", r"\1", each)) for each in files]


def _of_cuda12(tools: Toolkit, wanted: Build) -> list[str]:
    return [f"-I{OF_CUDA12}"] if wanted.cuda12 and tools.version >= cuda12.SINCE else []


def _why_not_compiled(said: str, wanted: Build, version: int) -> str:
    if why := cuda12.why_gone(said, version):
        return f"{said.rstrip()}\n{why}"
    header = re.search(r"fatal error: (\S+): No such file", said)
    name = Path(header[1]).name if header else ""
    if name == "curand_kernel.h":
        return f"{said.rstrip()}\n{name} comes with cuRAND: {CURAND}"
    for beginning, library in LIBRARIES.items():
        if name.startswith(beginning):
            return f"{said.rstrip()}\n{closed(library)}. (A program that only includes {name} needs its folder: -I)"
    if header and "\\" in header[1]:
        slashed = header[1].replace("\\", "/")
        return f"{said.rstrip()}\nOnly Windows takes a \\ in the name of a header: write {slashed}"
    if header:
        return f"{said.rstrip()}\n{name} is in none of the folders of headers: give its folder with -I"
    if "kernel launch from __device__ or __global__ functions requires" in said:
        return f"{said.rstrip()}\nLaunches by kernels need --option=-rdc=true, as with nvcc"
    if needed := _arch_needed(said):
        return f"{needed}, and this is compiled for {wanted.arch}"
    if "Unsupported gpu architecture" in said or "is not defined for option 'gpu-" in said:
        return f"nvcc cannot compile for compute_{wanted.arch}: give another --arch, such as 80 or 90a"
    return said.rstrip()


NEEDED = {"wgmma": "90a", "setmaxnreg": "90a", "tcgen05": "100a"}
"""The --arch of instructions that no plain one has."""


def _arch_needed(said: str) -> str:
    """Which --arch has the instructions that ptxas refuses; "" where it complains of anything else."""
    refused = re.compile(r"(?:Instruction|Feature) '(\w*)[^']*' (?:not supported|cannot be compiled)")
    errors = re.findall(r"^ptxas .*; error +: (.+)$", said, re.M)
    names = dict.fromkeys(found[1] if (found := refused.match(each)) else each for each in errors)
    names.pop("", None)  # a part of an instruction: .cta_group
    if not names or names.keys() - NEEDED.keys():
        return ""
    arch = max((NEEDED[name] for name in names), key=lambda arch: int(arch[:-1]))
    return f"{' and '.join(names)} need{'s' * (len(names) == 1)} --arch {arch}"


def library_of(function: str) -> str:
    """The library whose kernels nobody may read; "" for a function that is of none."""
    return next((of for name, of in LIBRARIES.items() if re.match(rf"{name}[A-Z_]", function)), "")


def closed(library: str) -> str:
    return (
        f"the program uses {library}. Its kernels come as machine code, which the simulator cannot run: leave these "
        "calls out, or put kernels of your own in their place"
    )


def _why_not_linked(said: str) -> str:
    if "undefined reference to `main'" in said:
        return "no file has a main: give all files of the program"
    if "multiple definition of `main'" in said:
        return "two files have a main: give the files of one program"
    if library := re.search(r"cannot find -l(\S+?):?(?:\s|$)", said):
        return _no_library(library[1])
    undefined = sorted(set(re.findall(r"undefined reference to `([^']+)'", said)))
    if undefined:
        return f"no file has {', '.join(undefined)}: give all files of the program, and libraries with -l"
    return said.rstrip()


def _no_library(name: str) -> str:
    if name == "nvToolsExt":
        return "-lnvToolsExt went with CUDA 13: leave it out, the program needs no library for it"
    return f"there is no library {name} (-l{name}) in the usual folders: give its folder with -L"


def _wanted_of_others(objects: Sequence[Path]) -> set[str]:
    """The functions and variables that the objects ask for, and have not."""
    asked: set[str] = set()
    defined: set[str] = set()
    for each in objects:
        for line in _symbols(each).splitlines():
            *_, kind, name = ("", *line.split())
            (asked if kind == "U" else defined).add(name)
    return asked - defined


def _missing(wants: set[str], library: Path) -> list[str]:
    """Functions of CUDA and of libraries that nobody may read, which the objects want and the runtime library has
    not."""
    there = {line.split()[-1].partition("@")[0] for line in _symbols(library, "-D").splitlines()}
    gone = sorted(wants - there)
    return [name for name in gone if re.match(r"_*cu(da)?[A-Z]|nvml[A-Z]", name) or library_of(name)]


def _symbols(file: Path, *options: str) -> str:
    command = ["nm", *options, str(file)]
    return subprocess.run(command, capture_output=True, errors="surrogateescape", check=False).stdout


def _stubs(missing: Sequence[str], folder: Path) -> Path:
    """An object with a function for each name: it says which one the program called, and ends it."""
    lines = [
        "typedef unsigned long word;",
        "void ptxsim_missing(const char* name, word site);",
        "void ptxsim_register_linked(void (*callback)(void**), void* wrapper);",
        *map(_stub, missing),
    ]
    source, made = folder / "missing.c", folder / "missing.o"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compiler = shutil.which("gcc") or _host_compiler()
    subprocess.run([compiler, "-x", "c", "-c", str(source), "-o", str(made)], check=True)
    return made


def _stub(name: str) -> str:
    if name.startswith("__cudaRegisterLinkedBinary"):
        return (
            f"void {name}(void (*callback)(void**), void* wrapper, void* a, void* b) "
            "{ ptxsim_register_linked(callback, wrapper); }"
        )
    if HANDLES.match(name):
        made = f"*handle = {name}; " if "Create" in name else ""
        return f"int {name}(void** handle) {{ {made}return 0; }}"
    return f'int {name}(void) {{ ptxsim_missing("{name}", (word)__builtin_return_address(0)); return 801; }}'
