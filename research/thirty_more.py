"""Programs that nobody here had tried, thirty at a time, drawn before the first run: `python -m research.thirty_more
FOLDER`, where FOLDER/OWNER+NAME holds each repository's files, prints the second thirty; with `--first` the first.

Each is run as it stands: `ptxsim run FILE.cu`, with the repository's folders of headers, `-rdc=true` where its Makefile
has it, no arguments, 240 s at most of the processor's time. Whatever stops it, it is counted.

The first rule: a .cu file with a main, of the first six repositories, that is not among the programs of
ptxsim/docs/public_programs.csv, was not run before, and is not for another kind of machine (8_Platform_Specific). It
drew files that are no whole program for a GPU, so the second rule, for other repositories, wants more of a file, all of
it told from the text alone, and takes at most three of a repository:

* a main and a launch;
* every header, and each header's, is in the repository, in the folder Common of NVIDIA's samples, of CUDA, or of C,
  C++, OpenMP and Linux; beside none lies a file of its name with code;
* no gap: "TODO", "FIXME" or "your code" nowhere;
* no argument that it must have: argv only behind a question that is true where there are more of them.
"""

import csv
import random
import re
import sys
from collections import Counter
from pathlib import Path

FIRST = {
    "olcf/cuda-training-series": "9cd77d539d",
    "CoffeeBeforeArch/cuda_programming": "8711be08e2",
    "brucefan1983/CUDA-Programming": "8b6c96ba30",
    "PacktPublishing/Learn-CUDA-Programming": "10bd9b59bf",
    "NVIDIA-developer-blog/code-samples": "72d62ec464",
    "NVIDIA/cuda-samples": "c94ff366ae",
}
SECOND = {
    "1y33/100Days": "1d8f606efc",
    "AyakaGEMM/Hands-on-GEMM": "378e63f937",
    "Cjkkkk/CUDA_gemm": "38cb93a44d",
    "ENCCS/cuda": "4ff8ae4f1e",
    "NVIDIA/multi-gpu-programming-models": "9a600f5ea8",
    "OrangeOwlSolutions/General-CUDA-programming": "ff25845cb1",
    "PaddleJitLab/CUDATutorial": "7499a3792f",
    "R100001/Programming-Massively-Parallel-Processors": "a972fb50d5",
    "RRZE-HPC/gpu-benches": "1038c5d0d0",
    "RichardAns/CUDA-Programs": "e43624aa20",
    "Tony-Tan/CUDA_Freshman": "979938216f",
    "csc-training/CUDA": "30ad78b201",
    "deeperlearning/professional-cuda-c-programming": "ee58310bcd",
    "ifromeast/cuda_learning": "52fa78bf46",
    "nicolaswilde/cuda-sgemm": "03a2c7bb17",
    "puttsk/cuda-tutorial": "dc6c2f1b03",
    "sangyc10/CUDA-code": "d24a7cd4b7",
    "tpn/cuda-by-example": "fc85cbd90d",
}
OF_ONE = 3
TRIED = [
    "8_Platform_Specific",
    "hw9/task",
    "hw12/task",
    "hw6/linked_list",
    "hw13/",
    "cooperative_groups/sumReduction",
    "2d_constant_memory",
    "shmem_atomic/histogram",
    "13-md/whole-code",
    "kernel-kernel",
    "radix_warp_sort",
    "curand_device",
    "quick_sort",
    "finite-difference",
    "printf-alternative",
    "/cdp",
    "simpleOccupancy",
    "simpleTexture",
    "graphConditionalNodes",
    "UnifiedMemoryStreams",
    "immaTensorCoreGemm",
    "cudaTensorCoreGemm",
    "conjugateGradientMultiBlockCG",
]
MAIN = re.compile(r"^\s*(?:int|void)\s+main\s*\(", re.M)
TABLE = Path(__file__).parents[1] / "ptxsim" / "docs" / "public_programs.csv"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
ELSEWHERE = re.compile(
    r"^\s*#\s*if[^\n]*(?:WIN32|_WIN|_MSC_VER|HIP)[^\n]*\n.*?^\s*#\s*(?:el|endif)", re.M | re.S
)
INCLUDED = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
LAUNCH = re.compile(r"<<<|\bcudaLaunch\w*Kernel\w*")
GAP = re.compile(r"TODO|FIXME|your code", re.I)
ARGUMENT = re.compile(r"argv\s*\[\s*[^0\s]|\bgetopt|\+\+argv|argv\s*\+")
MORE_OF_THEM = re.compile(r"\bargc\s*(?:>|==)")
FEWER = re.compile(r"\bargc\s*(?:<|!=)")
OF_CUDA = re.compile(
    r"(?:cuda|cublas|curand|cufft|cusparse|cusolver|nvml|nvrtc|npp|nccl|nvToolsExt|cuComplex|device_|vector_|mma\.h"
    r"|math_constants|sm_|channel_|driver_|texture_|surface_|crt/|nvtx3/|thrust[/\\]|cub/|cooperative_groups|helper_)"
)
OF_HOST = re.compile(
    r"(?:[a-z_]+|(?:assert|complex|ctype|errno|fcntl|float|getopt|inttypes|limits|malloc|math|omp|pthread|sched|signal"
    r"|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time|unistd|sys/\w+)\.h)"
)
CODE = (".c", ".cc", ".cpp", ".cu")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def first_candidates(folder: Path) -> list[str]:
    with TABLE.open(encoding="utf-8") as table:
        known = [f"/{row['folder']}/" for row in csv.DictReader(table)]
    found = []
    for repository in FIRST:
        root = folder / repository.replace("/", "+")
        for path in root.rglob("*.cu"):
            name = f"/{path.relative_to(root).as_posix()}"
            tried = any(each in name for each in (*TRIED, *known))
            if not tried and MAIN.search(text_of(path)):
                found.append(repository + name)
    return sorted(found)


def second_candidates(folder: Path) -> list[str]:
    found = []
    for repository in SECOND:
        root = folder / repository.replace("/", "+")
        files: dict[str, list[Path]] = {}
        for path in sorted(root.rglob("*.*")):
            files.setdefault(path.name, []).append(path)
        found += [
            f"{repository}/{path.relative_to(root).as_posix()}"
            for path in root.rglob("*.cu")
            if is_whole(path, files)
        ]
    return sorted(found)


def is_whole(path: Path, files: dict[str, list[Path]]) -> bool:
    """By its text: a program for a GPU, in this file and its headers, without arguments. `files`: by their names."""
    text = text_of(path)
    code = COMMENT.sub(" ", text)
    return bool(
        MAIN.search(code)
        and LAUNCH.search(code)
        and not GAP.search(text)
        and not needs_arguments(code)
        and are_there(path, files, set())
    )


def needs_arguments(code: str) -> bool:
    asks = ARGUMENT.search(code)
    return bool(asks and (FEWER.search(code) or not MORE_OF_THEM.search(code)))


def are_there(path: Path, files: dict[str, list[Path]], seen: set[Path]) -> bool:
    """Whether all headers of a file, and theirs, are of the repository, of CUDA, or of the host; and hold all code."""
    if path in seen:
        return True
    seen.add(path)
    for sign, name in INCLUDED.findall(ELSEWHERE.sub(" ", COMMENT.sub(" ", text_of(path)))):
        own = files.get(re.split(r"[/\\]", name)[-1], [])
        if name.startswith("GL") or (
            own and not (is_alone(own[0], files) and are_there(own[0], files, seen))
        ):
            return False
        if not own and not OF_CUDA.match(name) and not (sign == "<" and OF_HOST.fullmatch(name)):
            return False
    return True


def is_alone(header: Path, files: dict[str, list[Path]]) -> bool:
    """Whether no file of code has its name, which would have to be given, too."""
    beside = {
        each for end in CODE for each in files.get(header.stem + end, []) if each.parent == header.parent
    }
    return header.suffix in CODE or not beside


def first_draw(folder: Path) -> tuple[int, list[str]]:
    every = first_candidates(folder)
    return len(every), random.Random(73).sample(every, 30)


def second_draw(folder: Path) -> tuple[int, list[str]]:
    every = second_candidates(folder)
    taken: list[str] = []
    of_each: Counter[str] = Counter()
    for name in random.Random(75).sample(every, len(every)):
        repository = "/".join(name.split("/")[:2])
        if of_each[repository] < OF_ONE and len(taken) < 30:
            of_each[repository] += 1
            taken.append(name)
    return len(every), taken


if __name__ == "__main__":
    words = [each for each in sys.argv[1:] if each != "--first"]
    count, names = (first_draw if "--first" in sys.argv else second_draw)(Path(words[0]))
    print(f"# {len(names)} of {count}")
    print("\n".join(sorted(names)))
