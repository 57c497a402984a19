"""What the simulator says of bugs that people had: the fault at its line, and nothing of the mended kernel."""

import numpy as np
import pytest

import ptxsim
from tests.bugs.beside_sanitizer.pairs import PAIRS
from tests.bugs.beside_sanitizer.table import RECORD, by_tools, rows, table
from tests.rules import ROOT
from tests.sample import one_in

ORDERS = one_in(3, (None, 1, 2, 3))


def launched(pair, fixed, seed):
    """The report, and whether the numbers are right."""
    options = (*pair.options(fixed), "-arch=sm_90a" if pair.hopper else "-arch=sm_80")
    arguments = pair.arguments()
    report = ptxsim.launch(
        ptxsim.compile(pair.source, "k", options), (pair.grid,), pair.block, arguments, seed=seed
    )
    wanted = np.asarray(pair.wanted(pair.arguments()))
    return report, np.array_equal(arguments[pair.output].reshape(wanted.shape), wanted)


@pytest.mark.parametrize("seed", ORDERS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_bug_is_found_at_its_line(pair, seed):
    report, _ = launched(pair, False, seed)
    assert [hazard for hazard in report.hazards if hazard.kind in pair.kinds and hazard.line in pair.lines], (
        report
    )


@pytest.mark.parametrize("seed", ORDERS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_mended_kernel_is_clean_and_right(pair, seed):
    report, right = launched(pair, True, seed)
    assert report.ok, report
    assert right


def test_the_record_is_of_these_kernels():
    assert {name: row["digest"] for name, row in RECORD["pairs"].items()} == {
        pair.name: pair.digest for pair in PAIRS
    }
    mended = {name: row["fixed"]["alone"] for name, row in RECORD["pairs"].items()}
    assert set(mended.values()) == {"wrong numbers in 0 of 200 launches"}, mended


def test_the_rows_beside_the_page_and_what_it_counts():
    """`python -m tests.bugs.beside_sanitizer.table` prints them."""
    folder = ROOT / "ptxsim" / "docs"
    assert (folder / "real_bugs.csv").read_text(encoding="utf-8") == table()
    page = " ".join((folder / "judges.md").read_text(encoding="utf-8").split())
    assert [where for _, where, *_ in rows() if f"]({where})" not in page] == []
    *_, right, by_sanitizer, by_simulator = zip(*rows(), strict=True)
    found = [len(PAIRS) - column.count("-") for column in (by_sanitizer, by_simulator)]
    assert f"**compute-sanitizer finds {found[0]} of the {len(PAIRS)}, `ptxsim` {found[1]}**" in page
    assert f"{right.count('0')} of the faulty kernels gave right numbers in all 200 launches" in page
    (mended,) = (pair.where.partition(",")[0] for pair in PAIRS if by_tools(pair, "fixed") != "-")
    assert f"Of the mended kernels racecheck reports {mended}, `ptxsim` none." in page
    assert f"{RECORD['made']['gpu'].removeprefix('NVIDIA ')}, {RECORD['made']['date']}" in page
