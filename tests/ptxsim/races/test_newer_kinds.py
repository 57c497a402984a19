"""The newer kinds of findings, a small kernel each: what compute-sanitizer found of them on an H100 is found here."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import ptxsim

GOLDEN = Path(__file__).parents[2] / "golden"
SOURCE = (GOLDEN / "kinds.cu").read_text(encoding="utf-8")
SANITIZER = json.loads((GOLDEN / "kinds_h100.json").read_text(encoding="utf-8"))["reports"]
"""Which of its tools report a kernel (research/record_kinds.sh)."""
GRIDS = {name: int(grid) for name, grid in re.findall(r"ROW\((\w+), ([12])\)", SOURCE)}
CAUSES = {
    "proxy_store_no_fence": "missing-proxy-fence",
    "proxy_store_fence_of_one": "missing-proxy-fence",
    "proxy_store_fence_before_write": "missing-proxy-fence",
    "proxy_load_overwrites": "missing-proxy-fence",
    "proxy_global_load": "missing-proxy-fence",
    "proxy_global_add": "missing-proxy-fence",
    "store_not_awaited": "store-not-awaited",
    "store_source_overwritten": "copy-still-reads",
    "block_leaves_before_store": "exit-before-copy",
    "mask_lanes_elsewhere": "lane-passes-by",
    "mask_without_myself": "not-in-own-mask",
    "peer_store_before_start": "use-before-start",
    "peer_read_before_start": "no-cluster-barrier",
    "peer_exits_early": "exit-before-use",
    "mbarrier_known_to_nobody": "unknown-mbarrier",
    "mbarrier_phase_not_awaited": "phase-not-awaited",
    "mbarrier_one_waits": "no-barrier",
    "slot_overwritten_before_read": "no-barrier",
    "wgmma_no_fence": "missing-wgmma-fence",
    "wgmma_no_proxy_fence": "missing-proxy-fence",
    "setmaxnreg_wrong_way": "wrong-way",
}
NOT_REPORTED = {"mask_of_lanes_that_exit", "mask_syncwarp_elsewhere"}
"""Lanes of the mask that have left by a return count as come (docs/races.md, "Masks"); synccheck has it so as well."""


def report_of(name):
    kernel = ptxsim.compile(re.sub(r"#include <cst\w+>", "", SOURCE), name, ("-arch=sm_90a",))
    x, y = 7 * np.arange(256, dtype=np.int32) + 1, np.zeros(256, np.int32)
    return ptxsim.launch(kernel, GRIDS[name], 128, (x, y), max_steps=200_000)


def test_every_kernel_is_listed():
    right = {name for name in GRIDS if name.startswith(("ok_", "note_"))}
    assert set(GRIDS) == set(SANITIZER) == right | CAUSES.keys() | NOT_REPORTED


@pytest.mark.parametrize("name", GRIDS)
def test_a_kernel_gets_what_it_deserves(name):
    report = report_of(name)
    causes = [hazard.cause for hazard in report.hazards]
    assert causes == [CAUSES[name]] if name in CAUSES else report.ok, report
    assert bool(report.notes) == name.startswith("note_")


def test_what_the_sanitizer_reports_is_reported():
    assert {name for name, tools in SANITIZER.items() if tools} <= CAUSES.keys()
