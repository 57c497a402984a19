"""The SM at work: what small streams of instructions take, and the small kernels of `make calibrate` beside a GPU."""

import json
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from course_lib import OPTIONS
from ptxsim.clock import costs
from ptxsim.clock.core import Op
from ptxsim.clock.costs import ALU, FMA, HEAVY, SECTORS, TENSOR
from ptxsim.clock.instructions import ops_of
from ptxsim.clock.memory import ARRAY, OPEN_ROW, OTHER_ROW, Rates
from ptxsim.clock.model import main_loop
from ptxsim.clock.operations import (
    Arithmetic,
    Await,
    Branch,
    Bulk,
    BulkStore,
    Commit,
    CopiesWait,
    Copy,
    Exit,
    Init,
    Load,
    Math,
    Shared,
    Signal,
    Sync,
    Wide,
)
from ptxsim.clock.reasons import FOR_BANKS, FOR_BARRIER, FOR_GLOBAL, FOR_QUEUE, FOR_TURN, ISSUES, REASONS
from ptxsim.clock.sm import Stream, run
from ptxsim.clock.walk import constants_of, walk_block
from ptxsim.compiler import nvrtc
from ptxsim.compiler.disassembly import instructions_of
from tests.rules import ROOT
from tests.sample import one_in
from tools.calibrate.small import SMALL

END = Exit(at=999)
FFMA = Math(pipe=FMA, interval=2.0)
LOADS_4 = Shared(sets=0, interval=8.0, latency=29.0, wavefronts=4)
"""From shared memory, four registers of a lane."""


def waits_for(scoreboard: int) -> Op:
    return Op(waits=(scoreboard,))


def load(*sectors: int, wavefronts: int = 1) -> Load:
    return Load(sets=2, interval=4.0, wavefronts=wavefronts, sectors=sectors)


def cycles(*ops: Op, warps: int = 1) -> float:
    return run([Stream([*ops, END], 0) for _ in range(warps)]).end


def test_a_warp_issues_when_its_stall_is_over():
    assert cycles(Op(), Op()) == 3
    assert cycles(Op(stall=5), Op()) == 7


def test_warps_of_a_sub_core_share_its_issue_and_its_pipes():
    assert cycles(*[FFMA] * 64) == 65
    assert cycles(*[FFMA] * 64, warps=4) == 65, "four sub-cores"
    assert cycles(*[FFMA] * 64, warps=8) == pytest.approx(130, abs=2)
    assert cycles(*[Arithmetic(pipe=ALU, interval=2.0)] * 64) == pytest.approx(128, abs=2)
    assert cycles(*[Math(pipe=TENSOR, interval=6.15)] * 64) == pytest.approx(64 * 6.15, abs=7)


def test_a_product_of_64_bits_takes_the_issue_longer_and_the_warp_s_own_stall_begins_behind():
    wide = Wide(pipe=HEAVY, interval=4.0, stall=4)
    assert cycles(wide, Op()) == 3 - 1 + 4 + 2
    others = [Stream([END], 0)] * 3
    played = run([Stream([wide, END], 0), *others, Stream([Op(), Op(), END], 0, (0, 1))])
    assert np.diff(played.times[4]) == 1 and played.times[4][0] == 3
    played = run([Stream([wide] * 20 + [END], 0), *others, Stream([Op(stall=2)] * 60 + [END], 0)])
    assert played.spent[0, FOR_BANKS] > 20, "the other warp could go"


def test_loads_leave_the_line_for_memory_in_time_however_long_l1_is_busy():
    """Three sub-cores keep it busy for long; the fourth one's loads make room for each other all the same."""
    busy = [Shared(interval=4.0, latency=100.0, wavefronts=100)] * 4
    loads = [load(1)] * 40
    others = [Stream([*busy, END], 0)] * 3
    played = run([Stream([Op(stall=10), *loads, END], 0, tuple(range(1, 41))), *others])
    assert np.diff(played.times[0]).max() <= 4


def test_a_pair_of_registers_is_not_read_where_a_load_reads_its_address():
    single, pair = (Wide(pipe=HEAVY, interval=4.0, pair=pair) for pair in (False, True))
    assert cycles(load(1), pair) == cycles(load(1), single) + 1
    assert cycles(load(1), Op(), pair) == cycles(load(1), Op(), single)


def test_a_warp_that_waits_for_its_registers_keeps_its_turn():
    """Two warps of a sub-core: the second one's free registers do not let it in between."""
    crowded, free = replace(FFMA, hits=(2, 0), misses=(2, 0)), FFMA
    others = [Stream([END], 0)] * 3
    first, second = [Op(stall=2), *[crowded] * 50, END], [Op(stall=3), *[free] * 50, END]
    played = run([Stream(first, 0), *others, Stream(second, 0)])
    assert played.ends[0] == pytest.approx(100, abs=3) and played.ends[4] > 145
    assert played.spent[0, FOR_BANKS] == pytest.approx(100, abs=4), "of both: nobody can issue"
    assert played.spent[0, FOR_TURN] == pytest.approx(50, abs=4)


def test_two_register_banks_give_one_register_a_cycle_each():
    spread = replace(FFMA, hits=(1, 1), misses=(1, 1))
    crowded = replace(FFMA, hits=(2, 0), misses=(2, 0))
    kept = replace(FFMA, hits=(1, 0), misses=(2, 0))
    assert cycles(*[spread] * 100) == pytest.approx(100, abs=3)
    assert cycles(*[crowded] * 100) == pytest.approx(200, abs=3)
    assert cycles(*[kept] * 100) == pytest.approx(100, abs=3), "one of two is kept by .reuse"


def test_a_result_is_waited_for_and_the_wait_has_a_reason():
    ask = load(1, 2, 3, 4), waits_for(2)
    played = run([Stream([*ask, END], 0)])
    assert played.end > costs.OF_AN_H100.l2_latency
    assert played.spent[0, FOR_GLOBAL] == pytest.approx(costs.OF_AN_H100.l2_latency, abs=20)
    assert sum(played.spent.values()) == pytest.approx(played.end, abs=1), (
        "all of the warp's time has a reason"
    )
    again = run([Stream([*ask, *ask, END], 0)])
    assert again.end - played.end < 60, "the second time it is in L1"


def test_a_load_whose_line_is_on_its_way_waits_for_it_and_goes_through_l1_again():
    def one(first: int) -> Op:
        return load(*range(first, first + 4))

    alone = cycles(one(0), waits_for(2))
    behind = cycles(Op(stall=15), one(0), waits_for(2), warps=2)
    assert alone <= behind < alone + 25, "it comes when the line does"
    same, others = [one(0)] * 16, [one(4 * at) for at in range(16)]
    hits = [*same, waits_for(2), *same, waits_for(2)]
    fast = Rates(l2_bytes=1e6, l2_alone=1e6)

    def took(ops: list[Op]) -> float:
        return run([Stream([*ops, END], 0) for _ in range(32)], fast).end

    lines = [*others, waits_for(2), *others, waits_for(2)]
    assert took(lines) - took(lines[:17]) < 1.2 * 16 * 32, "the second time all are there"
    assert took(hits) - took(hits[:17]) == pytest.approx(16 * 32, rel=0.2)
    assert took(hits[:17]) > 1.25 * 16 * 32, "the first time nearly all find their line on its way"


def test_warps_meet_at_a_barrier():
    slow = [Op(stall=15)] * 20
    meet = Sync()
    streams = [Stream([*slow, meet, END], 0), *(Stream([meet, END], 0) for _ in range(7))]
    played = run(streams)
    assert min(played.ends) > 300
    assert played.spent[END.at, FOR_BARRIER] > 7 * 280
    other = run([*streams, Stream([meet, END], 1)])
    assert min(other.ends) < 50, "a block of its own does not wait"


def test_the_port_of_shared_memory_gives_a_wavefront_a_cycle():
    assert cycles(*[LOADS_4] * 50, waits_for(0), warps=16) == pytest.approx(50 * 16 * 4, rel=0.05)


def test_loaded_values_are_written_while_no_arithmetic_is():
    load = replace(LOADS_4, writes=4)
    idle, work, others = Op(stall=2), replace(FFMA, stall=2), (Stream([END], 0),) * 3

    def there(*works: Op) -> float:
        """When the consumer of a load goes, beside warps that do this every other cycle."""
        beside = [stream for work in works for stream in (Stream([*[work] * 60, END], 0), *others)]
        return run([Stream([load, waits_for(0), END], 0), *others, *beside]).ends[0]

    assert there(work) == pytest.approx(there(idle) + 3, abs=2), "half of the cycles are free"
    assert there(work, work) == pytest.approx(there(idle) + costs.MOST_LATE, abs=4), "none is"


def test_copies_past_l1_take_no_wavefronts_but_loads_behind_them_wait_until_their_lines_are_looked_up():
    alone = cycles(*[LOADS_4] * 50, waits_for(0), warps=16)

    def beside(lookups: float, wavefronts: int = 0) -> float:
        copy = Copy(lookups=lookups, wavefronts=wavefronts, sectors=tuple(range(16)))
        return cycles(*[*[LOADS_4] * 5, copy] * 10, waits_for(0), warps=16)

    assert beside(0) < alone + 60
    assert alone + 300 < beside(6.8) < alone + 16 * 10 * 6.8, (
        "some are looked up while loads go through the port"
    )
    assert beside(0, 4) > alone + 0.8 * 16 * 10 * 4, "what takes wavefronts is in the way"


def in_dram(*ops: Op) -> float:
    """Cycles where the arrays 1 and 3 come from DRAM."""
    rates = Rates(dram=True, of_few=frozenset({1, 3}))
    return run([Stream([*ops, waits_for(2), END], 0)], rates).end


@pytest.mark.parametrize("kind", [Load, Copy])
def test_lines_of_arrays_that_few_read_come_from_dram_and_one_in_five_from_another_row(kind):
    def late(array: int, line: int, lines: int = 1) -> float:
        first = array * ARRAY + SECTORS * line
        sectors = tuple(range(first, first + SECTORS * lines, SECTORS))
        ask = kind(sets=2, interval=4.0, wavefronts=lines, sectors=sectors)
        return round(in_dram(ask) - cycles(ask, waits_for(2)))

    assert {late(2, line) for line in range(40)} == {0}
    found = [late(1, line) for line in range(200)]
    assert set(found) == {OPEN_ROW, OTHER_ROW} and 20 < found.count(OTHER_ROW) < 60
    assert late(3, 0, lines=40) == pytest.approx(OTHER_ROW, abs=20), "all of it waits for its latest line"


def test_the_second_half_of_a_line_that_has_come_from_dram_is_in_l2():
    def took(first: int, second: int) -> float:
        """From the first copy's arrival to the second one's."""
        copies = [Copy(sets=2, interval=4.0, sectors=(ARRAY + at, ARRAY + at + 1)) for at in (first, second)]
        return in_dram(copies[0], waits_for(2), copies[1]) - in_dram(copies[0])

    assert took(0, SECTORS) > took(0, 2) + OPEN_ROW - 1


def test_of_blocks_that_go_in_step_one_waits_for_dram_another_one_at_each_k_tile():
    def waits(
        block: int, in_step: int, marks: tuple[int, ...] = (), k_tiles: tuple[int, ...] = ()
    ) -> list[int]:
        """K-tiles whose line comes late."""
        ops = []
        for line in range(6):
            ops += [Op(stall=2), load(ARRAY + SECTORS * line), waits_for(2)]
        every = tuple(range(len(ops)))
        rates = Rates(dram=True, of_few=frozenset({1}), in_step=in_step)
        played = run([Stream([*ops, END], block, marks or every, k_tiles=k_tiles)], rates)
        if marks:
            return [at for at, took in enumerate(np.diff(played.times[0])) if took > 500]
        return [at for at in range(6) if played.times[0][3 * at + 2] - played.times[0][3 * at + 1] > 500]

    numbers = tuple(at // 3 for at in range(18))
    assert waits(0, 1, k_tiles=numbers) == waits(1, 1, k_tiles=numbers) == list(range(6))
    assert waits(0, 2, k_tiles=numbers) == [0, 2, 4] and waits(1, 2, k_tiles=numbers) == [1, 3, 5]
    begins = tuple(range(0, 18, 3))
    assert waits(0, 2, marks=begins) == [1, 3], "by its marks: five turns, of the k-tiles 1 to 5"


def test_a_full_line_and_a_lost_turn_are_told_apart():
    """Of a warp that waits for room: when there is some and another one takes it, it has lost its turn."""
    short = Shared(stall=6, sets=0, interval=4.0, latency=25.0, wavefronts=1)
    played = run([Stream([*[short] * 200, END], 0) for _ in range(16)])
    lost, full = played.spent[0, FOR_TURN], played.spent[0, FOR_QUEUE]
    assert lost / (lost + full) == pytest.approx(2 / 10, abs=0.01), (
        "of 16 cycles 6 are its own stall, and in 2 of 10 another one gets in"
    )


def test_a_copy_for_two_blocks_asks_l2_once_and_what_another_block_frees_comes_later():
    made = Init(mbarrier=8, count=1)
    wait = Await(mbarrier=8, parity=0, sets=0), waits_for(0)

    def takes(part: float) -> float:
        copy = Bulk(mbarrier=8, size=1 << 20, part=part)
        return cycles(made, Signal(mbarrier=8, arrivals=1, expected=1 << 20), copy, *wait)

    assert takes(0.5) == pytest.approx(takes(1.0) * 35.4 / 55, rel=0.05), "as fast as one SM alone takes them"
    near, far = (
        cycles(made, Signal(mbarrier=8, arrivals=1, late=late), *wait) for late in (0.0, costs.OTHER_SM)
    )
    assert far - near == costs.OTHER_SM


def test_a_phase_ends_with_its_last_arrival():
    made, arrive = Init(mbarrier=8, count=2), Signal(mbarrier=8, arrivals=1)
    wait = Await(mbarrier=8, parity=0, sets=0), waits_for(0)
    work = [Op(stall=15)] * 20
    late = [*work, arrive, END]
    early = [made, arrive, *wait, *work, END]
    assert run([Stream(early, 0), Stream(late, 0)]).end > 2 * 300, "one works, and behind it the other one"


def test_a_store_of_the_copy_engine_is_waited_for_until_it_has_read():
    store, flush, wait = BulkStore(size=1 << 15), Commit(), CopiesWait()
    took = cycles(store, flush, wait)
    assert took == pytest.approx(((1 << 15) - costs.STORE_BUFFER) / Rates().store_bytes, rel=0.02)
    assert cycles(store, flush) < 10, "nobody waits for it"
    work = [Op(stall=15)] * 200
    assert cycles(store, flush, *work, wait) == pytest.approx(cycles(*work), abs=5)


def test_a_warp_goes_on_and_an_older_block_has_a_start():
    work = [FFMA] * 400
    played = run([Stream([*work, END], block) for block in (0, 1) for _ in range(4)])
    assert max(played.ends[:4]) < 420 and min(played.ends[4:]) > 780, "nothing stops the one that goes on"
    work = [replace(FFMA, stall=2)] * 400
    played = run([Stream([*work, END], block) for block in (0, 1, 2) for _ in range(4)])
    assert max(played.ends[:4]) < 0.9 * max(played.ends[8:]), "one in two cycles is free for two others"


def test_a_loop_goes_on_and_counts_what_comes_behind_its_start():
    ops = [FFMA] * 100
    played = run([Stream(ops, 0, (10, 60), (10, 90))], issues=1000)
    turns = np.diff(played.times[0])
    assert (turns > 0).all() and turns[0] + turns[1] == pytest.approx(80, abs=1)
    assert played.spent[0, ISSUES] == pytest.approx(1000, abs=2)
    assert len(REASONS) == 12


# --------------------------------------------------------------------------- beside a GPU

MEASURED = json.loads((ROOT / "ptxsim/rates/nvidia-h200.json").read_text())["cycles"]
ONE_SM = Rates(l2_bytes=121, l2_alone=121, store_bytes=32)  # LDG.128 in L2 and STG.128, of one SM alone
WALKED = SMALL
CLOSE = 0.16
TURNS = 2, 8
FAR = {
    "LDGSTS.128": "each turn copies the same lines to the same place, while those of the turn before are on their way",
    "LDG.32 in L1, 32 lines": "35 % too short with 4 warps; with 1, and with 8 and more, it is right",
}


def streams(name: str, warps: int, turns: int) -> list[Stream]:
    """Of a small kernel, with all instructions marked."""
    small = next(small for small in WALKED if small.name == name)
    text = nvrtc.machine_code(small.source, (), OPTIONS, "sm_90a").text
    pointers = [(8 * at, (1 + at << 40).to_bytes(8, "little")) for at in range(3)]
    numbers = [(24, turns.to_bytes(4, "little")), (28, bytes(4))]
    block = 32 * warps, 1, 1
    constants = constants_of([*pointers, *numbers], block, (1, 1, 1))
    steps = walk_block(instructions_of(text, "small"), constants, (0, 0, 0), block, (1, 1, 1), loaded=0)
    known: dict = {}
    ops = [ops_of(of_warp, known) for of_warp in steps]
    return [Stream(of_warp, 0, tuple(range(len(of_warp)))) for of_warp in ops]


@cache
def modelled(name: str, warps: int) -> float:
    """Cycles from one of its instructions to the next of a warp."""
    ends = [run(streams(name, warps, turns), ONE_SM).end for turns in TURNS]
    times = next(small.times for small in WALKED if small.name == name)
    return (ends[1] - ends[0]) / (TURNS[1] - TURNS[0]) / times


def off(name: str) -> dict[int, float]:
    """By the number of warps: by what part the model is longer than the GPU."""
    return {
        int(warps): modelled(name, int(warps)) / measured - 1
        for warps, measured in MEASURED[name]["one SM"].items()
    }


def test_nothing_is_issued_beside_a_product_of_64_bits_whoever_is_woken():
    """Loads whose values come at any time, and all arithmetic between them made such products."""
    made = streams("LDS.32", 16, 2)

    def wide(op: Op) -> Op:
        head = {each.name: getattr(op, each.name) for each in fields(Op)}
        return Wide(**{**head, "pipe": HEAVY, "interval": 4.0}) if op.pipe == ALU else op

    ops = [[wide(op) for op in stream.ops] for stream in made]
    times = run([replace(stream, ops=of) for stream, of in zip(made, ops, strict=True)], ONE_SM).times
    for core in range(4):
        issued, taken = np.concatenate(times[core::4]), [each.keeps for of in ops[core::4] for each in of]
        order = np.argsort(issued, kind="stable")
        behind = np.diff(issued[order])[np.array(taken)[order[:-1]] == 3]
        assert len(behind) > 50 and behind.min() >= 3 - 1e-9


NEAR = [small.name for small in WALKED if small.name not in FAR]
STORES = "STG.128"
"""The only one with stores to global memory."""


@pytest.mark.parametrize("name", dict.fromkeys([STORES, *one_in(6, NEAR)]))
def test_a_small_kernel_takes_as_long_as_on_the_gpu(name):
    far = {warps: f"{part:+.0%}" for warps, part in off(name).items() if abs(part) > CLOSE}
    assert not far, f"the clock is further from the GPU's time of {name} than {CLOSE:.0%}, by its warps"


@pytest.mark.parametrize("name", FAR)
def test_those_that_do_not_are_known(name):
    assert max(map(abs, off(name).values())) > CLOSE


@pytest.mark.parametrize(
    ("slots", "k_tiles", "even"), [(3, 9, 6), (4, 10, 8), (3, 20, 12), (5, 20, 10), (8, 6, 4)]
)
def test_a_loop_of_slots_comes_out_even(slots, k_tiles, even):
    """As many k-tiles as a whole number of rounds has; where there are too few for one, some."""

    def k_tile(number: int) -> list[Op]:
        wait = Await(at=8, mbarrier=number % slots, parity=0)
        return [wait, *[Op(at=16)] * 3, Branch(at=24)]

    begins = main_loop([each for number in range(k_tiles) for each in k_tile(number)]).marks
    assert (len(begins) - 1, begins[-1] - begins[0]) == (even, 5 * even)
