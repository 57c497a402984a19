"""The sweep that chooses `matmul`'s plans: what it times, what it keeps, and what stands on file."""

import json
import math
import sys
from dataclasses import replace

import pytest

from course_lib.lessons import environment
from matmul import heat, matmul, plans, sweep_file, tune, tuned, tuner
from ptxsim.gpus import H100, file_name
from tools.author import tune as tool

lesson = sys.modules["matmul.tune"]
SHAPES = [(512, 512, 512), (4100, 4100, 4100), (64, 64, 65536)]
LARGEST = 150_000  # bytes of a record


class Clock:
    """In place of `Problem`: a plan takes what the rule says of its tile, and a little more by slots and order."""

    def __init__(self, shape, whole=False):
        self.shape = shape

    def time(self, plan):
        TIMED.append((self.shape, plan))
        tile = next(tile for tile in plans.TILES if tile.tile == plan.tile)
        return tile.cost(*self.shape, plan.split) * (1 + 0.01 * abs(plan.stages - 4) + 0.001 * plan.group)

    def time_call(self, call):
        return 50.0

    def cublas(self):
        return None

    def sustained(self, plan):
        return {"sustained": 400.0}


TIMED: list = []


@pytest.fixture
def clock(monkeypatch):
    TIMED.clear()
    monkeypatch.setattr(tuner, "Problem", Clock)
    monkeypatch.setattr(tuner, "compile_all", lambda plans: [*plans])
    monkeypatch.setattr(tuner, "exact", lambda shape, plan: True)
    monkeypatch.setattr(tuner, "here", lambda: (plans.SHARED, "NVIDIA Test 1"))
    monkeypatch.setattr(tuner, "registers", lambda found: dict.fromkeys(_rings(found), 128))


def _rings(found):
    return {(plan.tile, plan.stages) for each in found.values() for plan in each.times}


def test_a_sweep_finds_the_fastest_and_times_no_plan_twice_before_the_end(clock, capsys):
    found = tuner.sweep(SHAPES)
    for shape, each in found.items():
        assert {plan.tile for plan in each.times} == {tile.tile for tile in plans.TILES}
        assert all(plan.fits(True, True) for plan in each.times)
        assert each.times[each.plan] == min(each.times.values())
        assert plans.by_rule(*shape) in each.times
        assert len([plan for problem, plan in TIMED if problem == shape]) == len(each.times) + 2 * tuner.LAST
        assert each.cublas_us == 50 and each.us == pytest.approx(each.times[each.plan], abs=0.01)
    large = found[4100, 4100, 4100]
    assert large.plan.group == 1 and large.plan.split == 1  # the clock likes small groups
    assert {plan.stages for plan in large.times} >= {2, 3, 4}
    assert found[64, 64, 65536].plan.split > 8
    lines = capsys.readouterr().out.split("\r")
    assert sum("3/3" in line for line in lines) == len(tuner.ROUNDS) + 1 and "tiles, parts of K" in lines[1]
    assert "[##########" in lines[1] and max(map(len, lines)) <= 101


def test_a_ladder_is_left_where_it_gets_slower():
    base = tuner.BASES[0]
    ladder = [base.parts(65536, split) for split in (1, 2, 4, 8, 16)]
    cost = dict(zip(ladder, (10.0, 8.0, 9.0, 12.0, 1.0)))
    times = {ladder[1]: 8.0}
    tuner.climb(ladder, times, cost.get)
    assert list(times.values()) == [8.0, 10.0, 9.0, 12.0]


def test_no_part_of_k_is_empty_and_blocks_are_not_too_many():
    for shape in tool.SHAPES:
        for ladder in tuner.parts(shape, {}, tuner.BASES):
            for plan in ladder:
                down, across = plan.tiles(*shape[:2])
                assert (plan.split - 1) * plan.k_part(shape[2]) < shape[2]
                assert plan.split == 1 or down * across * plan.split <= tuner.MOST_BLOCKS


def test_a_wrong_plan_is_never_kept(clock, monkeypatch):
    monkeypatch.setattr(tuner, "exact", lambda shape, plan: False)
    with pytest.raises(RuntimeError, match=r"wrong numbers for \(512, 512, 512\)"):
        tuner.sweep(SHAPES[:1])


def test_whole_numbers_tell_a_wrong_plan():
    """Here the simulator is the GPU."""
    plan = tuner.BASES[-1]
    assert tuner.exact((20, 70, 140), plan)


def test_make_tune_writes_what_matmul_and_the_lesson_read(clock, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(plans, "FOLDER", tmp_path)
    monkeypatch.setattr(environment.device, "backend", lambda: "cupy")
    monkeypatch.setattr(tool.timing, "name", lambda: "NVIDIA Test 1")
    monkeypatch.setattr(tool.timing, "provenance", lambda: {"gpu": "NVIDIA Test 1", "date": "2026-11-22"})
    old = {"cutlass2": {"date": "2026-01-01"}, "plans": [{"shape": SHAPES[0], "cutlass2_us": 7.5} | ROW]}
    (tmp_path / "nvidia-test-1.json").write_text(json.dumps(old))
    plans.on_file.cache_clear(), plans.tuned.cache_clear()
    assert tool.main(tuple(SHAPES), power=((512, 512, 512),)) == 0
    plans.on_file.cache_clear(), plans.tuned.cache_clear()
    record = plans.on_file("NVIDIA Test 1")
    assert record["cutlass2"] == {"date": "2026-01-01"} and record["power"][0]["sustained"] == 400
    chosen, times = sweep_file.chosen_of(record), sweep_file.times_of(record)
    assert chosen[SHAPES[0]]["cutlass2_us"] == 7.5 and "cutlass2_us" not in chosen[SHAPES[1]]
    for shape in SHAPES:
        assert (
            plans.plan(*shape, gpu="NVIDIA Test 1")
            == chosen[shape]["plan"]
            == min(times[shape], key=times[shape].get)
        )
    assert plans.plan(512, 512, 513, gpu="NVIDIA Test 1") == plans.by_rule(512, 512, 513)
    assert [path.name for path in tmp_path.iterdir()] == ["nvidia-test-1.json"]
    plans.on_file.cache_clear(), plans.tuned.cache_clear()


ROW = {
    "tile": [64, 64, 64],
    "warp": [32, 32],
    "stages": 4,
    "split": 1,
    "group": 16,
    "us": 9.0,
    "cublas_us": 8.0,
}


def test_make_tune_without_a_gpu(capsys):
    assert tool.main() == 2 and "measures on a GPU" in capsys.readouterr().err


# --------------------------------------------------------------------------- the record


def test_the_record_of_the_h100():
    path = plans.FOLDER / file_name(H100.driver_name)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < LARGEST
    assert record["provenance"].keys() >= {"gpu", "driver", "nvrtc", "cupy", "date", "method", "kernel"}
    chosen, times = sweep_file.chosen_of(record), sweep_file.times_of(record)
    assert list(times) == list(chosen) == list(tool.SHAPES) and len(times) == 30
    loss = []
    for shape, row in chosen.items():
        assert row["plan"] in times[shape] and row["us"] < 1.05 * min(times[shape].values())
        assert plans.plan(*shape) == row["plan"] and row["cublas_us"] > 0 and row["cutlass2_us"] > 0
        assert {plan.tile for plan in times[shape]} == {base.tile for base in tuner.BASES}
        loss.append(math.log(times[shape][plans.by_rule(*shape)] / min(times[shape].values())))
    assert math.exp(sum(loss) / 30) < 1.04
    sweep = tuned()
    assert all(plan.fits(True, True) and sweep.at_once(plan) for each in times.values() for plan in each)


def test_a_gpu_that_nobody_tuned_gets_the_rule(monkeypatch):
    assert plans.plan(512, 512, 512, gpu="NVIDIA Nothing") == plans.by_rule(512, 512, 512)
    room = sys.modules[matmul.__module__]
    assert room.here() == (plans.SHARED, H100.driver_name)


def test_replayed_without_a_gpu():
    some = tune([(777, 888, 1000)], tiles=[(64, 64), (64, 96)])
    (times,) = some.times.values()
    assert {plan.tile[:2] for plan in times} == {(64, 64), (64, 96)}
    assert some.origin.startswith("no GPU, nothing timed: recorded on NVIDIA H100")
    plan, us = some.best((777, 888, 1000))
    assert plan.tile[:2] in {(64, 64), (64, 96)} and us == min(times.values())
    with pytest.raises(ValueError, match="5x6x7 was not timed; known are 512x512x512"):
        tune([(5, 6, 7)])
    with pytest.raises(ValueError, match="was not timed with tiles of 8x8"):
        some.best((777, 888, 1000), (8, 8))


def test_an_edited_kernel_is_named(monkeypatch):
    monkeypatch.setattr(lesson, "matmul_source", lambda number: "another text")
    assert tuned().origin.endswith("; the kernel was edited since")


def test_the_tables():
    sweep = tuned()
    lines = str(sweep).splitlines()
    assert len(lines) == 32 and len(set(map(len, lines[1:]))) == 1
    why = sweep.why((4096, 4096, 4096), (64, 64), sweep.best((4096, 4096, 4096))[0].tile[:2]).splitlines()
    assert len(why) == 3 and len(set(map(len, why))) == 1  # the winner is not there twice
    small = why[2].split()
    assert (
        small[0] == "64x64x64"
        and int(small[4]) == 64 * 64
        and int(small[7]) == round(4096 * 128 * 4096 * 2 / 1e6)
    )


def test_a_gpu_with_unknown_limits():
    sweep = replace(tuned(), gpu="NVIDIA Test 1")
    header, row = sweep.why((512, 512, 512)).splitlines()
    assert row.split()[5:7] == ["-", "-"] and len(row) == len(header)


def test_the_heat_map_is_described_as_it_is_framed():
    small, large = (plans.Plan((m, 64, 32), (32, 32), 3) for m in (64, 128))
    shape = (512, 512, 512)
    _, words = heat.tiles("here", {shape: {small: 10.0, large: 11.0}}, {shape: large})
    assert words.endswith("Chosen: 512x512x512: 128x64 at 1.10.")


def test_the_pictures(capsys):
    sweep = tuned()
    sweep.heat((512, 512, 512), (4096, 4096, 4096))
    sweep.orders((8192, 8192, 8192))
    heat_map, orders = capsys.readouterr().out.splitlines()
    winners = ["x".join(map(str, sweep.best((size,) * 3)[0].tile[:2])) for size in (512, 4096)]
    assert f"Chosen: 512x512x512: {winners[0]}; 4096x4096x4096: {winners[1]}." in heat_map
    assert "recorded on NVIDIA H100" in heat_map
    assert orders.startswith("Two heat maps for 8192x8192x8192") and "slots of the ring: 2 1." in orders


def test_a_plan_on_file_is_taken_where_it_fits(monkeypatch):
    known = plans.Plan((192, 128, 64), (48, 64), 3)
    monkeypatch.setattr(plans, "tuned", lambda gpu: {(1500, 1500, 1500): known})
    assert plans.plan(1500, 1500, 1500) == known
    assert plans.plan(1500, 1500, 1500, a_along_k=False).fits(False, True)
    assert plans.plan(1500, 1500, 1500, shared=100_000).shared_mem <= 100_000
