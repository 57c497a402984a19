"""The kernels and exercises of the lessons, as they stand in the notebooks: right ones pass, wrong ones do not.

Wrong kernels are made by replacing text, so a test here fails too when a lesson's kernel was edited and the
text to replace is gone.
"""

import json
import re

import numpy as np
import pytest

from course_lib import OPTIONS, Gemm, check_exercise, lessons, simulate, simulator
from course_lib.backend import standin
from course_lib.backend.records import canonical, course_headers
from course_lib.gemm import CheckFailed

MAINLOOP = "01_mainloop"
LAUNCHES = {
    "naive": {"tile": (32, 32, 1), "threads": 1024},
    "tiled": {"tile": (32, 32, 32), "threads": 1024},
    "vector_copy": {"tile": (32, 32, 32), "threads": 1024},
    "register_tile": {"tile": (64, 64, 16), "threads": 256},
    "mainloop": {"tile": (128, 128, 32), "threads": 256},
}

FIRST_BARRIER = "__syncthreads();                              // the k-tile is complete"
SECOND_BARRIER = "__syncthreads();                              // all have read it"
NO_FIRST = ("first barrier removed", FIRST_BARRIER, "", "read-after-write")
NO_SECOND = ("second barrier removed", SECOND_BARRIER, "", "write-after-read")
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK;",
    "k_tile < K / TK - 1;",
    "without the last k-tile|NaN|wrong",
)
NO_LAST_K = ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile")
NO_FIRST_K = (
    "k off by one at the start",
    "int k = 0; k < TK;",
    "int k = 1; k < TK;",
    "without the first k of every",
)
COPIES = [
    ("same k-tile each time", "A + k_tile * TK * M, M", "A, M", "wrong"),
    ("transposed operand", "B + k_tile * TK * N, N", "B + k_tile * TK, K", "wrong|misaligned|out-of-bounds"),
    ("A with the columns of B", "A + k_tile * TK * M, M", "A + k_tile * TK * N, N", "wrong|out-of-bounds"),
]

WRONG = {
    "naive": [
        ("last k skipped", "k < K;", "k < K - 1;", "without the last k-tile|never written|wrong"),
        ("k off by one", "int k = 0;", "int k = 1;", "without the first k-tile|wrong"),
        ("transposed operand", "A[m + k * M]", "A[m * K + k]", "A read as if it was transposed"),
        ("result transposed", "C[m + n * M]", "C[m * N + n]", "stored transposed"),
        ("row off by one", "A[m + k * M]", "A[m + 1 + k * M]", "out-of-bounds|wrong"),
        ("wrong block", "blockIdx.x * 32", "blockIdx.y * 32", "wrong|out-of-bounds"),
    ],
    "tiled": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K,
        ("transposed operand", "As[k][m]", "As[m][k]", "wrong"),
        ("transposed tile", "B[t % TN + (t / TN) * N]", "B[t / TN + (t % TN) * N]", "wrong"),
        ("step off", "B += TK * N;", "B += TK * M;", "wrong|out-of-bounds"),
        ("blocks in one place", "(blockIdx.y * TN + n) * M", "n * M", "block-conflict"),
    ],
    "vector_copy": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K,
        ("transposed operand", "B[i + j * N]", "B[i * K + j]", "wrong|misaligned|out-of-bounds"),
        ("columns of the other matrix", "A[i + j * M]", "A[i + j * N]", "wrong|out-of-bounds"),
        ("B not copied", "t < 512", "t < 256", "uninitialised-read"),
        ("floats counted as bytes", "4 * (t % 8)", "16 * (t % 8)", "out-of-bounds|write-after-write|wrong"),
    ],
    "register_tile": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K, NO_FIRST_K, *COPIES,
        ("half the tile", "/ (4 * THREADS); ++turn", "/ (8 * THREADS); ++turn", "uninitialised-read"),
        ("turns on top of each other", "turn * THREADS + threadIdx.x", "threadIdx.x / 2", "uninitialised-read"),
        ("tiles mixed up", "float4 a4 = *(float4*)&As[k][m]", "float4 a4 = *(float4*)&Bs[k][m]", "wrong"),
        ("columns of C off by one", "*(float4*)&C[j * M]", "*(float4*)&C[(j + 1) * M]", "wrong|block-conflict|out-of"),
    ],
    "mainloop": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K, NO_FIRST_K, *COPIES,
        ("groups too close", "&As[k][m + 32]", "&As[k][m + 16]", "wrong"),
        ("shape of a warp", "warp % 2 * 64", "warp % 2 * 32", "wrong"),
        ("columns of C", "j / 4 * 16", "j / 4 * 4", "wrong|block-conflict"),
    ],
}  # fmt: skip


def kernel(source, name):
    return standin.RawKernel(source, name, options=OPTIONS)


def replaced(source, old, new):
    assert old in source, f"the kernel in the notebook has no {old!r} any more: write this wrong variant anew"
    return source.replace(old, new)


def gemm_of(name):
    return Gemm(*(4 * size for size in LAUNCHES[name]["tile"]))


def test_every_kernel_of_the_lesson_is_listed():
    assert set(lessons.kernels(MAINLOOP)) == set(LAUNCHES) == set(WRONG)
    assert all(len(variants) >= 4 for variants in WRONG.values())


@pytest.mark.parametrize("name", LAUNCHES)
def test_right_kernel_passes(name):
    verdict = gemm_of(name).check(kernel(lessons.kernel_source(MAINLOOP, name), name), **LAUNCHES[name])
    assert repr(verdict).startswith("check passed")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LAUNCHES)
def test_no_false_alarm_in_other_orders_of_warps(name, seed):
    tile_m, tile_n, tile_k = LAUNCHES[name]["tile"]
    small = Gemm(tile_m, tile_n, 3 * tile_k)
    compiled = simulator.compile(lessons.kernel_source(MAINLOOP, name), name, OPTIONS)
    args = small.arguments(*small.inputs)
    report = simulator.launch(compiled, (1, 1), (LAUNCHES[name]["threads"],), args, seed=seed)
    assert report.ok, str(report)
    assert np.allclose(args[2], args[0] @ args[1].T, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "variant"), [pytest.param(name, v, id=f"{name}-{v[0]}") for name in WRONG for v in WRONG[name]]
)
def test_wrong_kernel_is_rejected(name, variant):
    _, old, new, words = variant
    wrong = replaced(lessons.kernel_source(MAINLOOP, name), old, new)
    with pytest.raises(CheckFailed, match=words):
        gemm_of(name).check(kernel(wrong, name), **LAUNCHES[name])


def test_header_holds_the_copy_that_the_lesson_explains():
    """`copy_tile` is written out in the lesson once; the later kernels take it from the header."""
    header = course_headers("#include <course/tile.cuh>")["course/tile.cuh"]
    function = canonical(header[header.index("template") :])
    assert function in canonical(lessons.kernel_source(MAINLOOP, "register_tile"))


# ---- 00_start_here: its two kernels, checked as the lesson does


def saxpy_is_right(source):
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    args = (np.float32(2), x, y, np.int32(n))
    return simulate(kernel(source, "saxpy"), (4,), (256,), args).ok and np.array_equal(y, 2 * x + 1)


def mirror_is_right(source):
    x, y = np.arange(1024, dtype=np.float32), np.full(1024, np.nan, np.float32)
    report = simulate(kernel(source, "mirror"), (4,), (256,), (x, y))
    return report.ok and np.array_equal(y.reshape(4, 256), x.reshape(4, 256)[:, ::-1])


START = {
    "saxpy": (
        saxpy_is_right,
        [
            ("if (i < n)", ""),
            ("i < n", "i <= n"),
            ("i < n", "i < n - 1"),
            ("blockIdx.x * blockDim.x + ", ""),
            ("x[i] +", "x[i + 1] +"),
        ],
    ),
    "mirror": (
        mirror_is_right,
        [
            ("__syncthreads();", ""),
            ("255 - t]", "256 - t]"),
            ("255 - t]", "254 - t]"),
            ("y[blockIdx.x * 256 + t]", "y[t]"),
            ("tile[255 - t]", "tile[t]"),
        ],
    ),
}


@pytest.mark.parametrize("name", START)
def test_first_kernels(name):
    source, (is_right, variants) = lessons.kernel_source("00_start_here", name), START[name]
    assert is_right(source)
    assert not any(is_right(replaced(source, old, new)) for old, new in variants)


# ---- exercises


def read_exercises():
    """Exercise -> (answer as the unfilled cell gives it, text of the solution cell)."""
    found, answers = {}, []
    given = {"cp": standin, "OPTIONS": OPTIONS, "check_exercise": lambda *answer: answers.append(answer)}
    for path in sorted(lessons.NOTEBOOKS.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            tags, source = cell["metadata"].get("tags", ()), "".join(cell["source"])
            if "exercise" in tags:
                exec(source, given | lessons.kernels(path.stem))
            if "solution" in tags:
                name, unfilled = answers.pop()
                found[name] = unfilled, source
    return found


EXERCISES = read_exercises()


def cuda_of(solution):
    return "\n" + re.search(r"```cuda\n(.*?)```", solution, re.DOTALL)[1]


def solved(name, changes=()):
    """The answer of the solution cell, with some of its text replaced."""
    skeleton, solution = EXERCISES[name]
    if name == "00.3":
        return tuple(int(re.search(rf"`{word} = (\d+)`", solution)[1]) for word in ("blocks", "idle_threads"))
    source = cuda_of(solution)
    for old, new in changes:
        source = replaced(source, old, new)
    if name == "01.3":
        launch = eval(re.search(r"`(dict\(.*?\))`", solution)[1])
        return kernel(source, skeleton[0].name), launch
    return kernel(source, skeleton.name)


def test_there_are_three_exercises_in_each_lesson():
    assert sorted(EXERCISES) == ["00.1", "00.2", "00.3", "01.1", "01.2", "01.3"]


@pytest.mark.parametrize("name", EXERCISES)
def test_unfilled_exercise_says_not_yet(name):
    verdict = check_exercise(name, EXERCISES[name][0])
    assert not verdict.ok
    assert repr(verdict).startswith(f"{name} not yet: ")
    assert "\n" not in repr(verdict)


@pytest.mark.parametrize("name", EXERCISES)
def test_solution_passes(name):
    verdict = check_exercise(name, solved(name))
    assert verdict.ok, verdict


@pytest.mark.parametrize("name", ["00.1", "01.1"])
def test_solution_fills_the_gaps_and_changes_nothing_else(name):
    skeleton, solution = EXERCISES[name]
    skeleton, solution = (re.sub(" +", " ", text.strip()) for text in (skeleton.code, cuda_of(solution)))
    assert re.fullmatch(re.escape(skeleton).replace("____", ".+"), solution)


ALL_HAVE_READ = SECOND_BARRIER + "\n"
WRONG_ANSWERS = {
    "00.1": [
        ("row by row", [("C[m + n * M]", "C[m * N + n]")], "one column after the other"),
        (
            "rows and columns mixed up",
            [
                ("threadIdx.x % 32", "threadIdx.x / 32"),
                ("threadIdx.x / 32;        //", "threadIdx.x % 32; //"),
            ],
            "the remainder",
        ),
        ("no quotient", [("y * 8 + threadIdx.x / 32", "y * 8 + threadIdx.x % 8")], "8 warps are 8 columns"),
        ("whole thread number", [("threadIdx.x % 32", "threadIdx.x")], "32 lanes are 32 rows"),
    ],
    "00.2": [
        (
            "barrier in the if",
            [
                ("__syncthreads();", ""),
                ("if (t > 0)", "if (t > 0) __syncthreads();\n    if (t > 0)"),
                ("y[t] = tile[t];\n", "y[t] = tile[t];\n    __syncthreads();\n"),
            ],
            "meet at a barrier",
        ),
        (
            "barrier for half the block",
            [("__syncthreads();", "if (t < 128) __syncthreads();")],
            "between writing the tile",
        ),
        (
            "barrier too early",
            [("tile[t] = x[t];\n    __syncthreads();", "__syncthreads();\n    tile[t] = x[t];")],
            "between writing",
        ),
        (
            "barrier too late",
            [("__syncthreads();", ""), ("y[t] = tile[t];", "y[t] = tile[t];\n    __syncthreads();")],
            "between writing",
        ),
        ("right neighbour", [("tile[t - 1]", "tile[(t + 1) % 256]")], "left neighbour"),
    ],
    "01.1": [
        ("no first barrier", [("__syncthreads();\n\n", "\n")], "between writing the tile"),
        ("no second barrier", [("__syncthreads();\n        A", "A")], "a slow warp still multiplies"),
        ("tile turned round", [("As[i / TM][i % TM]", "As[i % TM][i / TM]")], "a row is a remainder"),
        (
            "size of the other tile",
            [("B[i % TN + (i / TN) * N]", "B[i % TM + (i / TM) * N]")],
            "one of B is N",
        ),
        ("columns of M floats in B", [("(i / TN) * N]", "(i / TN) * M]")], "one of B is N"),
    ],
    "01.2": [
        (
            "barrier after the copy",
            [
                (ALL_HAVE_READ, ""),
                ("k_tile * TK * N, N);\n", "k_tile * TK * N, N);\n        __syncthreads();\n"),
            ],
            "a slow warp still multiplies",
        ),
        (
            "barrier between the copies",
            [
                (ALL_HAVE_READ, ""),
                ("copy_tile<THREADS>(Bs, B + k", "__syncthreads();\n        copy_tile<THREADS>(Bs, B + k"),
            ],
            "a slow warp still",
        ),
        (
            "first barrier moved",
            [("{\n        __syncthreads();\n        multiply", "{\n        multiply")],
            "between writing the tile",
        ),
        ("loop from 0", [("int k_tile = 1;", "int k_tile = 0;")], "follow k_tile"),
        (
            "no last multiplication",
            [("    __syncthreads();\n    multiply(acc, As, Bs, m, n);\n\n", "")],
            "follow k_tile",
        ),
    ],
    "01.3": [
        (
            "place of a warp",
            [
                (
                    "int m = lane % 8 * 4, n = warp * 32",
                    "int m = warp % 2 * 64 + lane % 8 * 4, n = warp / 2 * 32",
                )
            ],
            "side by side along N",
        ),
        ("old number of threads in the copy", [("THREADS = 128", "THREADS = 256")], "Is THREADS the number"),
        ("old tile", [("TM = 64", "TM = 128")], "side by side along N"),
        ("old depth", [("TK = 16", "TK = 32")], "side by side along N"),
    ],
}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        pytest.param(name, wrong, id=f"{name}-{wrong[0]}")
        for name in WRONG_ANSWERS
        for wrong in WRONG_ANSWERS[name]
    ],
)
def test_wrong_answer_gets_the_hint_that_fits(name, wrong):
    _, changes, hint = wrong
    verdict = check_exercise(name, solved(name, changes))
    assert not verdict.ok
    assert hint in repr(verdict)
    assert "\n" not in repr(verdict)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [((10, 56), "round up"), ((12, 152), "one block less"), ((11, 24), "launched ones"), ((11, None), "gap")],
)
def test_wrong_number_gets_the_hint_that_fits(answer, hint):
    verdict = check_exercise("00.3", answer)
    assert not verdict.ok
    assert hint in repr(verdict)


@pytest.mark.parametrize(
    "launch",
    [
        {"tile": (128, 64, 16), "threads": 128},
        {"tile": (64, 128, 16), "threads": 256},
        {"tile": (64, 128, 32), "threads": 128},
    ],
)
def test_wrong_launch_gets_the_hint_that_fits(launch):
    answer = solved("01.3")[0], launch
    assert "M first, and 128 threads" in repr(check_exercise("01.3", answer))


def test_a_source_that_does_not_compile_is_not_yet():
    verdict = check_exercise("00.1", kernel("__global__ void outer() { nonsense; }", "outer"))
    assert repr(verdict).startswith("00.1 not yet: it does not compile.")


def test_unknown_exercise():
    with pytest.raises(ValueError, match=r"no exercise '07\.1'; exercises: 00\.1"):
        check_exercise("07.1", None)
