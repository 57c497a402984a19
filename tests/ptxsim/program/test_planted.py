"""Public programs with a planted fault each: what `ptxsim run` found of them, beside compute-sanitizer on an H100."""

import json

import pytest

from tests.rules import ROOT
from tools.author import planted

KNOWN = json.loads(planted.FROZEN.read_text(encoding="utf-8"))["programs"]
NOT_FOUND = {"mask-of-a-convolution", "managed-vector-add", "rotated-matrix"}
"""ptxsim/docs/judges.md says why."""
RIGHT_AND_REPORTED = {"last-block-sums-up"}


def test_every_program_was_run():
    listed = [fault.short for fault in [*planted.faults(), *planted.faults("spare")]]
    assert set(KNOWN) == set(listed) and len(planted.faults()) == 40
    tools = {"plain", *planted.TOOLS, "ptxsim"}
    assert all(set(row[version]) == tools for row in KNOWN.values() for version in planted.VERSIONS)


def test_an_edit_is_short_and_changes_something():
    for fault in planted.faults():
        assert "\n" not in fault.old + fault.new and fault.old != fault.new
        source = "\n".join([*(old for old, _ in fault.sizes), *[fault.old] * fault.nth])
        right, wrong = (fault.text(source, version) for version in planted.VERSIONS)
        assert right.count(fault.old) == fault.nth and right != wrong
    with pytest.raises(ValueError, match="there is no 'a' number 2"):
        planted._replaced("abc", "a", "", 2)


def test_what_is_found():
    found = {fault.short: planted.found(KNOWN[fault.short], "ptxsim") for fault in planted.faults()}
    assert {name for name, kinds in found.items() if not kinds} == NOT_FOUND
    for name in NOT_FOUND:
        assert not any(planted.found(KNOWN[name], tool) for tool in planted.TOOLS)
    reported = {name for name in found if set(KNOWN[name]["right"]["ptxsim"]["reports"]) - planted.LEAKS}
    assert reported == RIGHT_AND_REPORTED


def test_the_page_counts_what_is_found():
    rows = [KNOWN[fault.short] for fault in planted.faults()]
    together = sum(any(planted.found(row, tool) for tool in planted.TOOLS) for row in rows)
    ours = sum(bool(planted.found(row, "ptxsim")) for row in rows)
    page = " ".join((ROOT / "ptxsim/docs/judges.md").read_text(encoding="utf-8").split())
    assert f"| public programs with a planted fault | {len(rows)} | {ours} reported |" in page
    assert f"together find {together}, all of which `ptxsim run` finds, and {ours - together} more" in page


def test_the_rows_of_the_pages():
    """`python -m tools.author.planted` prints them."""
    assert planted.rows() == (ROOT / "ptxsim/docs/planted.csv").read_text(encoding="utf-8")
    assert planted.sums() in (ROOT / "ptxsim/README.md").read_text(encoding="utf-8")
