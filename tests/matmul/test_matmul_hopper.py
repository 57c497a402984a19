"""`matmul` with lesson 07's kernel: exact on whole numbers, no hazard, and a plan that fits every problem."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from cupy_or_sim import device, timing
from matmul import matmul
from matmul.hopper_plans import MENU, HopperPlan, hopper_plan
from matmul.plans import Plan
from ptxsim.gpus import H100
from tests.matmul.test_matmul import Problem, check, edit, random_problem, with_plan, wrong_with
from tests.sample import one_in, sample
from tools.author.tune import SHAPES

room, ready = sys.modules["matmul.matmul"], sys.modules["matmul.ready"]
SMALL = HopperPlan((64, 64), 3, 1)
PAIR = HopperPlan((64, 192), 2, 2)
SQUARE = HopperPlan((64, 64), 3, 2, 2)
TOGETHER = HopperPlan((128, 64), 3, together=2)
ALONE = Problem(72, 136, 64 * 10), HopperPlan((64, 128), 8)
PLANS = list(MENU)
KINDS = [("float16", "float16"), ("bfloat16", "bfloat16"), ("float16", "float32"), ("bfloat16", "float16")]


@pytest.mark.parametrize("number", sample(range(len(MENU)), lambda number: PLANS[number].tile[0]))
def test_every_plan_of_the_menu_is_right_and_clean(number):
    """More than one tile in each direction, more k-tiles than slots; the last blocks of a cluster have no rows."""
    plan, layout = PLANS[number], ("CF", "CC", "FF", "FC")[number % 4]
    rows, columns = plan.piece[::-1] if plan.turned else plan.piece
    plan = plan.fitting(layout[plan.turned - 1] == "CF"[not plan.turned])
    kinds = KINDS[number % 2]
    check(Problem(rows + 8, columns + 8, (plan.slots + 1) * plan.together * 64 + 24, layout, *kinds), plan)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("width", one_in(6, range(16, 257, 16)))
def test_every_width_of_a_tile(width, turned):
    """Boxes of C of 64, 32 and 16 columns, or rows; the last tile is cut off."""
    plan = HopperPlan((64, width), 2, turned=turned)
    shape = (width + 24, 72) if turned else (72, width + 24)
    check(Problem(*shape, 72, ("CF", "CC", "FF", "FC")[width // 16 % 4], bias=True), plan)


@pytest.mark.parametrize("orders", ["CF", "CC", "FF", "FC"])
def test_layouts(orders):
    check(Problem(72, 136, 136, orders), SMALL)


def test_rows_that_the_copy_engine_cannot_read():
    check(Problem(67, 76, 100, "CC", "bfloat16", "float32", moved=1, whole=False), SMALL)


@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 5, 3), (5, 3, 0), (1, 130, 7), (65, 8, 64)])
def test_edges(shape):
    for out_order in "CF":
        check(Problem(*shape, out_order=out_order, bias=True, alpha=-1.0), SMALL)


@pytest.mark.parametrize("number", sample(range(4), lambda number: number % 2))
def test_what_becomes_of_the_sums(number):
    """In boxes, where C is of A's type and not read, or element by element."""
    problem = Problem(72, 80, 72, "CF", *KINDS[number], "CF"[number % 2], bias=True, alpha=2.0)
    check(replace(problem, activation="relu"), SMALL)
    check(replace(problem, activation="gelu", whole=False), SMALL)
    check(replace(problem, beta=-1.0), SMALL)


def test_k_in_parts():
    check(Problem(65, 8, 300, bias=True, activation="relu", beta=0.5), replace(SMALL, split=3))


CLUSTERS = [(1, 2, 1), (2, 2, 1), (1, 4, 1), (2, 4, 1), (1, 1, 2), (2, 1, 2), (1, 1, 4)]


@pytest.mark.parametrize("below, across, together", one_in(6, CLUSTERS))
def test_clusters(below, across, together):
    """Blocks that share B, A or the k-tiles; some have no rows or no columns. The parts of K are of two lengths."""
    plan = HopperPlan((64, 64), 3, below, across, together)
    check(Problem(72, 136, 64 * 9 + 8, "CF", bias=True, activation="relu", alpha=2.0), plan)
    check(Problem(64, 72, 64 * 8, "FC", "bfloat16", "float32", beta=1.0), plan)
    if together < 4:  # 16 columns of each, which the copy engine can store
        check(Problem(72, 136, 64 * 9, bias=True, activation="relu", alpha=2.0), replace(plan, turned=True))


def test_sums_of_two_consumers_in_two_parts():
    check(Problem(136, 72, 64 * 9 + 8, bias=True), replace(TOGETHER, below=2, split=2))


def test_blocks_that_make_several_tiles(monkeypatch):
    """Two blocks for four pairs of tiles: the ring and the boxes of C go on from one tile to the next."""
    monkeypatch.setattr(ready, "sms", lambda: 1)
    monkeypatch.setattr(HopperPlan, "at_once", 2)
    monkeypatch.setattr(HopperPlan, "group", 2)
    check(Problem(64 * 4 - 3, 64 * 2 - 8, 200), replace(PAIR, tile=(64, 64)))


def test_a_block_that_has_an_sm_makes_several_tiles(monkeypatch):
    """It asks for its first k-tile before it meets, and for no other one."""
    monkeypatch.setattr(ready, "sms", lambda: 2)
    check(Problem(64 * 4 - 3, 128 * 2 - 8, 72), ALONE[1])


@pytest.mark.parametrize("seed", sample(range(20), lambda seed: seed // 20))
def test_random_problems(seed):
    check(random_problem(seed, most=120), SMALL)


def test_a_plan_fits_and_leaves_no_block_without_work():
    for M, N, K in (*SHAPES, (16384, 4096, 4096), (1, 1, 1), (65_000, 8, 100_000)):
        plan = hopper_plan(M, N, K)
        rows, columns = (N, M) if plan.turned else (M, N)
        pieces, blocks = plan.pieces(rows, columns), plan.blocks(rows, columns, H100.sms)
        assert plan.shared_mem() <= H100.shared_block and plan.at_once >= 1
        assert plan.fitting(b_along_k=False).shared_mem(b_along_k=False) <= H100.shared_block
        assert blocks % plan.cluster == 0 and blocks // plan.cluster <= pieces
        assert blocks // plan.cluster == pieces if plan.together > 1 else blocks <= H100.sms * plan.at_once
        k_tiles = -(-K // 64)
        last = k_tiles - (plan.split - 1) * plan.k_part(K)
        assert last >= min(plan.together, k_tiles)  # each block has some of the last part


def test_a_last_part_of_k_with_less_than_a_k_tile_for_each_block():
    """151 k-tiles in 16 parts are 10 each and 1 for the last, of which the second of two blocks would have none."""
    assert HopperPlan((64, 64), 8, together=2).parts(151 * 64, 16).split == 14


def test_a_large_problem_takes_a_large_tile_and_a_small_one_many_blocks():
    assert hopper_plan(8192, 8192, 8192).tile == (128, 256)
    small = hopper_plan(1024, 1024, 1024)
    assert small.pieces(1024, 1024) * small.cluster > 100
    assert hopper_plan(64, 64, 65536).split >= 8


def test_a_turned_plan_only_where_c_is_stored_in_boxes():
    shape = 336, 14152, 1400
    assert room.planned(shape, True, True, (7,)).turned
    assert not room.planned(shape, True, True, (7,), boxes=False).turned


def test_whose_kernel_runs(monkeypatch):
    """In the simulator lesson 06's, unless asked."""
    names, kernel_of = [], ready.kernel_of
    monkeypatch.setattr(ready, "kernel_of", lambda name: names.append(name) or kernel_of(name))
    A = device.cp.ones((8, 8), np.float16)
    for lesson in (None, 6):
        matmul(A, A, lesson=lesson)
    with_plan(SMALL, lambda: matmul(A, A, lesson=7))
    assert [name[:4] for name in names] == ["gemm", "gemm", "hopp"]


def test_a_box_of_c_begins_at_16_bytes(monkeypatch):
    boxes, instance = [], ready.hopper_instance
    monkeypatch.setattr(ready, "hopper_instance", lambda *given: boxes.append(given[-2]) or instance(*given))
    A, place = device.cp.ones((8, 8), np.float16), device.cp.zeros(72, np.float16)
    for first in (0, 4, 8):
        out = place[first : first + 64].reshape(8, 8)
        with_plan(SMALL, lambda out=out: matmul(A, A, out=out, lesson=7))
        assert (out == 8).all()
    assert boxes == [True, False, True]


def test_lesson_07s_kernel_where_it_may_run():
    assert isinstance(room.planned((64, 4096, 4096), True, True, (6, 7)), HopperPlan)
    assert isinstance(room.planned((16, 4096, 4096), True, True, (6, 7)), Plan)
    assert isinstance(room.planned((16, 4096, 4096), True, True, (7,)), HopperPlan)
    assert isinstance(room.planned((5, 3, 0), True, True, (7,)), Plan)  # adds nothing


def test_what_lesson_may_be(monkeypatch):
    A = device.cp.ones((8, 8), np.float16)
    with pytest.raises(ValueError, match="lesson is 5; allowed are 6 and 7"):
        matmul(A, A, lesson=5)
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(timing, "capability", lambda: "8.0")
    from matmul.given import allowed_lessons

    assert allowed_lessons(None) == allowed_lessons(6) == (6,)
    with pytest.raises(ValueError, match=r"needs a GPU of compute capability 9\.0, and this one has 8\.0"):
        allowed_lessons(7)
    monkeypatch.setattr(timing, "capability", lambda: "9.0")
    assert allowed_lessons(None) == (6, 7) and allowed_lessons(7) == (7,) and allowed_lessons(6) == (6,)


BOXES = Problem(72, 200, 264, "CC", bias=True, activation="relu", alpha=2.0), PAIR
PARTS = Problem(72, 72, 200), replace(SMALL, split=2)
FOUR = Problem(72, 136, 392), SQUARE
MOVED = Problem(72, 72, 76, moved=1), SMALL
REST = Problem(72, 120, 72), HopperPlan((64, 80), 2)
OVER = Problem(120, 72, 72), HopperPlan((64, 80), 2, turned=True)
SHARED = Problem(136, 64, 648), TOGETHER
ROW = Problem(72, 256, 72 + 64 * 6), HopperPlan((64, 64), 3, 1, 4)
WRONG = {
    "rows of the other block of the cluster": (BOXES, "Form::BELOW + place.row)", "Form::BELOW)", "wrong, first at"),
    "columns of the other block": (FOUR, "Form::ACROSS + place.column)", "Form::ACROSS)", "wrong, first at"),
    "a slot freed for one block only": (BOXES, "% 128 < place.MATES ?", "% 128 == 0 ?", "deadlock"),
    "no slot freed for the block beside": (FOUR, "% 128 < place.MATES ?", "% 128 < 2 ?", "deadlock"),
    "half of A for oneself": (FOUR, "((1 << GROUP) - 1) / ((1 << BELOW) - 1)", "1", "deadlock"),
    "a slot freed for a block of another column": (ROW, " + (i - BELOW >= column);", ";", "deadlock|write-after-read"),
    "a block that ends before others arrive": (BOXES, "Form::BELOW + Form::ACROSS > 2", "false", "exited-block"),
    "sums that have not come": (SHARED, "    mbarrier_wait(&s.come, 0);\n", "", "unwaited-copy|uninitialised"),
    "sums over k-tiles that are still read": (SHARED, "    named_sync<THREADS>(7);         ", "", "write-after-read"),
    "sums without a proxy fence": (SHARED, "    fence_async();\n    named", "    named", "missing-proxy-fence"),
    "one's own share sent": (SHARED, "s.slots + to * SHARE", "s.slots + part * SHARE", "wrong, first at"),
    "a block that ends while others copy": (SHARED, "if (SPLIT > 1) cluster_meet();", "", "exited-block"),
    "all k-tiles in each part": (SHARED, "k_tiles_here * place.part / Form::SPLIT", "0", "wrong, first at"),
    "this k-tile's slot freed": (BOXES, "0) free((count - 1) % Form::SLOTS)", "0) free(slot)", "deadlock"),
    "nobody waits for wgmma": (BOXES, "wgmma_wait<1>();", "wgmma_wait<2>();", "write-after-read"),
    "one k16 too short": (BOXES, "k < TK / 16", "k < TK / 16 - 1", "wrong, first at"),
    "the next box of an operand across k": (BOXES, "BOX * 2 / 16 - 1", "BOX / 16 - 1", "wrong, first at"),
    "no proxy fence": (BOXES, "        fence_async();\n", "", "missing-proxy-fence"),
    "C's box not waited for": (BOXES, "if (threadIdx.x % 128 == 0) wait_older_stores_read();", "", "write-after-read"),
    "its place freed for one thread": (BOXES, "named_sync<128>(1 + consumer);      ", "", "write-after-read"),
    "the rest of C as if it were 64 wide": (REST, "wide == 64 ? C : C_rest", "C", "block-conflict"),
    "C not turned": (OVER, "m8n8.x4.trans.shared", "m8n8.x4.shared", "wrong, first at"),
    "rows of C for columns": (OVER, "TURNED ? m : n + column", "TURNED ? n + column : m", "block-conflict"),
    "rows read before they are moved": (
        MOVED,
        "    wait_for_kernel_before();                                 // which",
        "    // which",
        "block-conflict",
    ),
    "one division too coarse": (FOUR, "number * times >> 31", "number * times >> 32", "wrong, first at"),
    "bias of the wrong columns": (BOXES, "finish.bias[at]", "finish.bias[column]", "wrong, first at"),
    "alpha forgotten": (BOXES, "finish.alpha * x +", "x +", "wrong, first at"),
    "the first barrier not made": (ALONE, "mbarrier_init(&s.full[0], 1);", "", "there is no mbarrier"),
    "the first barrier made by two": (ALONE, "slot > 0 || !HAS_SM<Mine>", "true", "write-after-write"),
    "a consumer that does not meet": (ALONE, "        meet();\n        float", "        float", "there is no mbarrier"),
    "a slot filled while it is read": (ALONE, "if (turn > 0 || !", "if (turn > 1 || !", "write-after-read"),
    "sums of all parts in one place": (PARTS, "piece.part * M * c_stride", "0", "block-conflict"),
}  # fmt: skip
"""What is wrong: the problem and plan that tell it, its text, the new text, words of what is said."""


@pytest.mark.parametrize("what", sample(WRONG, lambda what: WRONG[what][-1][:5] == "wrong", most=2))
def test_wrong_kernels_are_rejected(what, monkeypatch):
    telling, old, new, words = WRONG[what]
    edit(monkeypatch, 7, old, new)
    wrong = wrong_with(*telling)
    assert re.search(words, wrong), wrong


def test_parts_of_k_that_are_added_before_they_are_there(monkeypatch):
    edit(monkeypatch, 6, "    wait_for_kernel_before();\n    Finish", "    Finish")
    assert "before its block has come to griddepcontrol.wait" in wrong_with(*PARTS)


def test_the_source_holds_each_header_once():
    source = ready.matmul_source(7)
    headers = sorted((device.INCLUDE / "course" / "hopper").glob("*.cuh"))
    assert len(headers) == 11 and not re.search(r"#include <course/(hopper|gemm)/", source)
    for header in headers:
        first = header.read_text(encoding="utf-8").partition("\n")[0]
        assert source.count(f"{first}\n") == 1, header.name
