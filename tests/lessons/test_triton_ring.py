"""deeper/05_triton: its texts are Triton's, and what exercise 05.7 asks for is what the simulator says of them."""

import importlib.util

import pytest

from notebooks.answers.lesson_05_triton import SHARED, STAGES
from notebooks.figures import triton_ring
from ptxsim.compiler import cache
from tests.lessons.reading import by_id

NOTEBOOK = "deeper/05_triton"
SOURCE = "".join(by_id(NOTEBOOK)["t03"]["source"]).split('r"""')[1].split('"""')[0]
HERE = importlib.util.find_spec("triton") is not None


@pytest.fixture(params=[each for each in STAGES if each <= 4])
def stages(request):
    return request.param


def test_each_count_up_to_the_largest_is_right_and_one_more_is_found(stages):
    ring, most = triton_ring.triton_ring(SOURCE, stages), 2 * (stages - 2)
    assert ring.shared == SHARED[(stages, *triton_ring.TILE)]
    for count in range(most + 1):
        right, report = ring.with_wait(count).run()
        assert right and report.ok, report
    right, report = ring.with_wait(most + 1).run()
    assert not right and report.hazards[0].kind == "unwaited-copy"
    assert "right = tl.load" in SOURCE.splitlines()[report.hazards[0].line - 1]


def test_a_text_that_does_not_ship_needs_triton(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(triton_ring, "import_module", absent)
    with pytest.raises(cache.ToolMissing, match="takes Triton: pip install triton"):
        triton_ring.triton_ring(SOURCE + "\n", 2)


@pytest.mark.skipif(not HERE, reason="needs triton (make install WITH=compilers)")
def test_what_ships_is_what_triton_makes(stages, monkeypatch):
    kept = triton_ring.triton_ring(SOURCE, stages)
    monkeypatch.setattr(cache, "FOLDERS", [])
    assert triton_ring.triton_ring(SOURCE, stages) == kept


@pytest.mark.skipif(not HERE, reason="needs triton (make install WITH=compilers)")
def test_what_an_edited_text_asks_for():
    """A pipeline of a text that nobody kept."""
    ring = triton_ring.triton_ring(SOURCE.replace("left, right, sums)", "left, right, sums) # mine"), 3)
    right, report = ring.run(k_tiles=2)
    assert right and report.ok and ring.shared == SHARED[(3, *triton_ring.TILE)]
