"""tests/ran.py: what `make rest` leaves out."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hiding_latency import places
from tests import ran, sample
from tests.rules import ROOT


class Item(SimpleNamespace):
    """A test as pytest knows it."""

    __hash__ = object.__hash__

    def __init__(self, nodeid, **given):
        super().__init__(
            nodeid=nodeid, path=Path(nodeid.partition("::")[0]), callspec=SimpleNamespace(params=given)
        )


def test_what_passed_is_left_out_and_of_a_notebook_all_or_nothing():
    cells = [Item(f"notebooks/{name}.ipynb::Cell {n}") for name in ("00_a", "01_b") for n in range(2)]
    tests = [Item("tests/a.py::one"), Item("tests/a.py::two")]
    passed = {ran.key(item) for item in (*cells[:3], tests[0])}
    assert ran.rest([*cells, *tests], passed) == [*cells[2:], tests[1]]


def test_another_case_under_the_same_name_is_another_test():
    """A sample's second case may be the sixth of all."""
    first, other = (Item("tests/a.py::one[size1]", size=size) for size in ((1, 2), (3, 4)))
    assert ran.key(first) != ran.key(other)
    drawn = [Item("tests/a.py::one", how=lambda: None) for _ in range(2)]
    assert ran.key(drawn[0]) == ran.key(drawn[1])  # whatever the address


def test_a_set_has_the_same_key_in_each_process():
    words = "from tests.tools.test_ran import *; print(ran.key(Item('a', given=({'x', 'y', 'z'}, {'k': {'u', 'v'}}))))"
    keys = [
        subprocess.run(
            [sys.executable, "-c", words],
            cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in "123"
    ]  # fmt: skip
    assert len(set(keys)) == 1


@pytest.mark.parametrize("every", [False, True])
def test_a_test_that_takes_a_sample_itself_is_noted(monkeypatch, request, every):
    monkeypatch.setattr(sample, "EVERY", every)
    monkeypatch.setattr(sample, "cut", set())
    assert sample.one_in(2, [1]) == [1] and sample.sample("ab", str) == ["a", "b"] and not sample.cut
    sample.one_in(2, [1, 2])
    assert sample.cut == ({request.node.nodeid} if not every else set())
    sample.cut.clear()
    sample.sample("abb", str)
    assert sample.cut == ({request.node.nodeid} if not every else set())


@pytest.mark.parametrize(("asked", "left"), [(ran.WHOLE, []), (["tests/a.py::one"], ["tests/a.py::one"])])
def test_who_asks_for_one_test_gets_it(monkeypatch, tmp_path, asked, left):
    """Long cases call pytest themselves, with the environment that they have."""
    monkeypatch.setattr(sample, "REST", True)
    monkeypatch.setattr(ran, "FOLDER", tmp_path)
    items = [Item("tests/a.py::one")]
    (tmp_path / "one").write_text(f"{ran.key(items[0])}\n")
    hook = SimpleNamespace(pytest_deselected=lambda items: None)
    ran.pytest_collection_modifyitems(SimpleNamespace(args=asked, hook=hook), items)
    assert [item.nodeid for item in items] == left


def test_what_make_course_keeps_lies_elsewhere():
    """Each would take the other's files for its own: the tests forget theirs when they begin."""
    assert places.clone(ROOT).ran != ran.FOLDER


def test_what_is_in_long_alone():
    graded, elsewhere = ran.OF_LESSONS
    cases = {
        Item(f"{graded}[assignment_01_mainloop]", name="assignment_01_mainloop"): False,
        Item(f"{graded}[assignment_01_mainloop_more]", name="assignment_01_mainloop_more"): True,
        Item(f"{elsewhere}[T4-01_mainloop]", gpu="T4", stem="01_mainloop"): False,
        Item(f"{elsewhere}[T4-01_banks]", gpu="T4", stem="01_banks"): True,
        Item(f"{ran.LONG_ONLY[0]}::a"): True,
        Item("tests/a.py::one"): False,
    }
    assert {item.nodeid: ran._in_long_alone(item) for item in cases} == {
        item.nodeid: alone for item, alone in cases.items()
    }


def test_what_is_left_to_long_is_there():
    for test in (*ran.LONG_ONLY, *ran.OF_LESSONS):
        path, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
        assert (ROOT / path).is_file()
