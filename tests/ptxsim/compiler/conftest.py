"""Tests of the compiler take no text of an earlier run."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def no_kept_texts(compiled_anew):
    pass
