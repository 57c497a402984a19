"""The kernels that are put aside for the clock: enough of them, each named once, and right."""

import pytest

from tests.golden import record_put_aside
from tests.kernels.put_aside import points
from tests.sample import EVERY

POINTS = list(points())


def test_there_are_thirty_or_more_and_each_is_named_once():
    assert len({point.name for point in POINTS}) == len(POINTS) >= 30
    sources = {record_put_aside.source_of(point) for point in POINTS}
    assert len(sources) > 20, "edits that change nothing"


@pytest.mark.parametrize("point", POINTS if EVERY else POINTS[12:13], ids=lambda point: point.name)
def test_each_is_right(point):
    record_put_aside.check(point)
