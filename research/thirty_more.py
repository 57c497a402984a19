"""Thirty programs that nobody here had tried, drawn before the first run: `python -m research.thirty_more FOLDER`,
where FOLDER/OWNER+NAME holds each repository's files.

A candidate is a .cu file with a main, of these repositories at these commits, that is not among the programs of
ptxsim/docs/public_programs.csv, was not run before, and is not for another kind of machine (8_Platform_Specific). Each
is run as it stands: `ptxsim run FILE.cu`, with the repository's folder of headers, `-rdc=true` where its Makefile has
it, no arguments, 240 s at most. If it wants other files, other libraries or arguments, it is counted as one that did
not run.
"""

import csv
import random
import re
import sys
from pathlib import Path

REPOSITORIES = {
    "olcf/cuda-training-series": "9cd77d539d",
    "CoffeeBeforeArch/cuda_programming": "8711be08e2",
    "brucefan1983/CUDA-Programming": "8b6c96ba30",
    "PacktPublishing/Learn-CUDA-Programming": "10bd9b59bf",
    "NVIDIA-developer-blog/code-samples": "72d62ec464",
    "NVIDIA/cuda-samples": "c94ff366ae",
}
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


def candidates(folder: Path) -> list[str]:
    with TABLE.open(encoding="utf-8") as table:
        known = [f"/{row['folder']}/" for row in csv.DictReader(table)]
    found = []
    for repository in REPOSITORIES:
        root = folder / repository.replace("/", "+")
        for path in root.rglob("*.cu"):
            name = f"/{path.relative_to(root).as_posix()}"
            tried = any(each in name for each in (*TRIED, *known))
            if not tried and MAIN.search(path.read_text(encoding="utf-8", errors="replace")):
                found.append(repository + name)
    return sorted(found)


if __name__ == "__main__":
    every = candidates(Path(sys.argv[1]))
    print(f"# 30 of {len(every)}")
    print("\n".join(sorted(random.Random(73).sample(every, 30))))
