"""cp.async in flight: nobody writes to a source before the wait, from whichever array each lane copies."""

import numpy as np
import pytest

from tests.ptxsim.small_kernels import found, run

BODY = """__shared__ int tile[64];
COPY(tile + t, {}); // HERE
{}
COMMIT; WAIT(0);
out[t] = tile[t];"""


@pytest.mark.parametrize("source", ["b + t", "t < 32 ? a + t : b + t", "t % 2 ? a + t : b + t"])
@pytest.mark.parametrize("write", ["", "if (t == 40) b[t] = 5;"])
def test_a_source_is_written_too_early(source, write):
    arrays = [np.arange(64, dtype=np.int32) for _ in range(3)]
    report = run(BODY.format(source, write), *arrays, parameters="int* out, const int* a, int* b", block=64)
    assert [hazard.cause for hazard in report.hazards] == ["copy-still-reads"] * bool(write), report
    assert not found(report)[1], report
