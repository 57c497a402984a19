"""No test meets a CuPy that another one made up."""

import pytest

from matmul import warm


@pytest.fixture(autouse=True)
def no_cupy_of_before():
    warm.cupy.cache_clear()
    yield
    warm.cupy.cache_clear()
