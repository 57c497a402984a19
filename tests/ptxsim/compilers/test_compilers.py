"""Triton, Numba, Warp, CuTe DSL and pyptx: right kernels have the right numbers and no finding, in every order; one
planted fault in each is found, at its line of Python where the PTX has lines."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.compilers.texts import FOLDER, PTX, digest

ORDERS = (None, 1, 2)
u64, i32, f32 = np.uint64, np.int32, np.float32


@dataclass(frozen=True)
class Case:
    """A right kernel, by the name of its text in ptx/ (and behind a colon its own, where a text has several), and its
    faulty twin: another kernel, or an edit of the PTX (a pattern, and what takes its place)."""

    right: str
    wrong: str | tuple[str, str]
    kind: str
    """One of the kinds of the faulty one's findings,"""
    mark: str
    """at the line of Python that has this mark, @mark; empty where the PTX has none."""
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[], list]
    wanted: Callable[[list], np.ndarray]
    written: int = -1
    """The argument that the kernel writes."""
    shared: int = 0
    """Bytes of dynamic shared memory."""
    tolerance: float = 0


def integers(*shape, dtype=f32, seed=1, low=-4, high=5):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def normal(*shape, dtype=f32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def unset(*shape):
    return np.full(shape, np.nan, f32)


def norm(given):
    x, gain, bias = given[:3]
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5) * gain + bias


def attention(given):
    q, k, v = (each.astype(np.float64) for each in given[:3])
    weights = np.exp(q @ k.T * 0.125)
    return weights / weights.sum(1, keepdims=True) @ v


def counts(given):
    """The 24 places of the last program past the end count as 0."""
    return np.bincount(given[0], minlength=32) + 24 * (np.arange(32) == 0)


def of_numba(*arrays):
    """Arrays as Numba's parameters: two objects, elements, bytes of one, the data, shape, strides."""
    parameters = []
    for array in arrays:
        about = (0, 0, array.size, array.itemsize)
        parameters += [*map(u64, about), array, *map(u64, array.shape), *map(u64, array.strides)]
    return parameters


def of_warp(array, *shape):
    """An array as Warp's parameter: data, gradient, four sizes and four strides, dimensions. `shape`: of elements."""
    rest = (0,) * (4 - len(shape))
    strides = [array.nbytes // int(np.prod(shape[: i + 1])) for i in range(len(shape))]
    return ptxsim.Struct(array, None, *(i32(n) for n in (*shape, *rest, *strides, *rest, len(shape))))


def threads(*shape):
    """The first parameter of each of Warp's kernels: the launch's shape, its size, how many threads share a place."""
    return ptxsim.Struct(*(np.uint32(n) for n in shape), u64(np.prod(shape)), u64(1))


def data(argument):
    return argument.members[0] if isinstance(argument, ptxsim.Struct) else argument


def forces(given):
    place = data(given[1])
    way = place[None] - place[:, None]
    return (way / ((way * way).sum(2, keepdims=True) + f32(0.01))).sum(1)


def norm_arguments():
    """Five rows of 200; Triton adds two pointers of its own to every kernel."""
    return [
        normal(5, 200),
        integers(200),
        integers(200, seed=2),
        unset(5, 200),
        i32(200),
        f32(1e-5),
        None,
        None,
    ]


def attention_arguments():
    """128 queries, 96 keys."""
    q, k, v = (
        normal(128, 64, dtype="f2"),
        normal(96, 64, dtype="f2", seed=2),
        normal(96, 64, dtype="f2", seed=3),
    )
    return [q, k, v, unset(128, 64), i32(96), f32(0.125), None, None]


def counts_arguments():
    return [integers(1000, dtype=i32, low=0, high=32), np.zeros(32, i32), i32(1000), None, None]


def product_arguments():
    """Six tiles for four programs."""
    a, b = integers(128, 160, dtype="f2"), integers(160, 192, dtype="f2", seed=2)
    return [a, b, unset(128, 192), i32(128), i32(192), i32(160), None, None]


def tiles_arguments():
    return of_numba(integers(32, 64), integers(64, 48, seed=2), unset(32, 48))


def scaled_arguments():
    return [threads(300), f32(3), of_warp(integers(300), 300), of_warp(integers(300, seed=2), 300)]


def force_arguments():
    return [threads(40), of_warp(normal(40, 3), 40), of_warp(unset(40, 3), 40), i32(40)]


def row_arguments():
    return [threads(5, 128), of_warp(integers(5, 128), 5, 128), of_warp(unset(5), 5)]


NORM = dict(
    grid=(5,), block=(128,), arguments=norm_arguments, wanted=norm, written=3, shared=1024, tolerance=1e-5
)
ATTENTION = dict(
    grid=(2,),
    block=(128,),
    arguments=attention_arguments,
    wanted=attention,
    written=3,
    shared=32768,
    tolerance=2e-3,
)
COUNTS = dict(grid=(4,), block=(128,), arguments=counts_arguments, wanted=counts, written=1, shared=128)
PRODUCT = dict(
    grid=(4,), block=(128,), arguments=product_arguments, written=2, shared=24576,
    wanted=lambda given: given[0].astype(f32) @ given[1].astype(f32),
)  # fmt: skip
TOTAL = dict(
    grid=(3,), block=(128,), arguments=lambda: of_numba(integers(300), np.zeros(1, f32)), written=11,
    wanted=lambda given: given[4].sum(keepdims=True),
)  # fmt: skip
TILES = dict(
    grid=(3, 2),
    block=(16, 16),
    arguments=tiles_arguments,
    wanted=lambda given: given[4] @ given[13],
    written=22,
)
SUMS = dict(
    grid=(1,), block=(64,), arguments=lambda: of_numba(integers(64), unset(2)), written=11,
    wanted=lambda given: given[4].reshape(2, 32).sum(1),
)  # fmt: skip
SCALED = dict(
    grid=(2,),
    block=(256,),
    arguments=scaled_arguments,
    wanted=lambda given: 3 * data(given[2]) + data(given[3]),
)
FORCES = dict(grid=(2,), block=(32,), arguments=force_arguments, wanted=forces, written=2, tolerance=1e-5)
WARP_ROWS = dict(grid=(5,), block=(128,), arguments=row_arguments, wanted=lambda given: data(given[1]).sum(1))
REVERSE = dict(
    grid=(4,), block=(128,), arguments=lambda: [integers(512)], shared=512,
    wanted=lambda given: given[0].reshape(4, 128)[:, ::-1],
)  # fmt: skip
TURN = dict(
    grid=(3, 2), block=(32, 8), arguments=lambda: [integers(64, 96), unset(96, 64)], shared=4224,
    wanted=lambda given: given[0].T,
)  # fmt: skip
ROWS = dict(
    grid=(5,),
    block=(128,),
    arguments=lambda: [integers(5, 128), unset(5)],
    wanted=lambda given: given[0].sum(1),
)

LATE = (r"cp\.async\.wait_group\s+2;", "cp.async.wait_group 3;")
NO_FENCE = (r"fence\.proxy\.async\.shared::cta;", "")
NO_BARRIER = (r"\t(bar\.sync|barrier\.sync)\s[^;]*;", "")
CASES = [
    *(
        case
        for sm in ("sm_80", "sm_90")
        for case in (
            Case(
                f"triton_layer_norm_{sm}",
                f"triton_layer_norm_past_the_row_{sm}",
                "block-conflict",
                "past",
                **NORM,
            ),
            Case(f"triton_attention_{sm}", LATE, "unwaited-copy", "tiles", **ATTENTION),
            Case(
                f"triton_histogram_{sm}",
                f"triton_histogram_without_atomic_{sm}",
                "block-conflict",
                "bins",
                **COUNTS,
            ),
            Case(f"triton_persistent_{sm}", LATE, "unwaited-copy", "dot", **PRODUCT),
        )
    ),
    Case("triton_attention_sm_90", NO_FENCE, "missing-proxy-fence", "tiles", **ATTENTION),
    Case("triton_persistent_sm_90", NO_FENCE, "missing-proxy-fence", "dot", **PRODUCT),
    Case("numba_total", "numba_total_without_barrier", "read-after-write", "sum", **TOTAL),
    Case("numba_product", "numba_product_one_barrier", "write-after-read", "next", **TILES),
    Case("numba_warp_sums", "numba_warp_sums_half_mask", "warp-mask", "mask", **SUMS),
    Case("warp:scaled_sum", "warp:scaled_neighbour", "out-of-bounds", "", **SCALED),
    Case("warp:forces", "warp:forces_in_place", "block-conflict", "", **FORCES),
    Case("warp:row_sums", NO_BARRIER, "read-after-write", "", **WARP_ROWS),
    Case("cute_reverse", "cute_reverse_without_barrier", "read-after-write", "read", **REVERSE),
    Case("cute_turn", "cute_turn_wrong_block", "block-conflict", "store", **TURN),
    Case("pyptx_row_sums", "pyptx_row_sums_without_barrier", "read-after-write", "", **ROWS),
]


def kernel_of(name, edit=None):
    """The kernel, and the text of its source in Python."""
    text, _, entry = name.partition(":")
    ptx = (PTX / f"{text}.ptx").read_text()
    if edit:
        assert re.search(edit[0], ptx), f"{name}.ptx has nothing like {edit[0]}"
        ptx = re.sub(*edit, ptx)
    return ptxsim.from_ptx(ptx, f"{entry}_cuda_kernel_forward" if entry else "")


@pytest.mark.parametrize("seed", ORDERS)
@pytest.mark.parametrize("case", {case.right: case for case in CASES}.values(), ids=lambda case: case.right)
def test_a_right_kernel_has_its_numbers_and_no_finding(case, seed):
    arguments = case.arguments()
    wanted = case.wanted(case.arguments())
    report = ptxsim.launch(kernel_of(case.right), case.grid, case.block, arguments, case.shared, seed=seed)
    assert report.ok, report
    found = data(arguments[case.written]).reshape(wanted.shape)
    assert np.allclose(found, wanted, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.parametrize("seed", ORDERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.right}-{case.kind}")
def test_a_planted_fault_is_found(case, seed):
    kernel = kernel_of(case.right, case.wrong) if isinstance(case.wrong, tuple) else kernel_of(case.wrong)
    report = ptxsim.launch(kernel, case.grid, case.block, case.arguments(), case.shared, seed=seed)
    lines = {hazard.line for hazard in report.hazards if hazard.kind == case.kind}
    assert lines, report
    if case.mark:
        assert lines <= marked(case.right.partition("_")[0])[case.mark], report


def marked(compiler):
    """The lines of a compiler's kernels, by their marks."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate((FOLDER / f"{compiler}_kernels.py").read_text().splitlines(), 1):
        for mark in re.findall(r"# @(\w+)", line):
            found.setdefault(mark, set()).add(number)
    return found


@pytest.mark.parametrize("text", sorted(PTX.glob("*.ptx")), ids=lambda path: path.stem)
def test_each_text_is_made_from_the_source_as_it_stands(text):
    source, of = re.search(r"from (\w+\.py) (\w+)\n", text.read_text()).groups()
    assert digest(FOLDER / source) == of, f"{source} has changed: run it (the package's docstring says how)"
    assert "/" not in "".join(re.findall(r'\.file\s+\d+\s+"([^"]*)"', text.read_text()))
