"""Settings of all tests: hypothesis, and what nbval compares in a notebook."""

import os

import hypothesis
import pytest

from course_lib import lessons

hypothesis.settings.register_profile(
    "course",
    deadline=None,  # the first example compiles, the others do not
    derandomize=bool(os.environ.get("CI")),  # in CI the same examples every time
    print_blob=True,
)
hypothesis.settings.load_profile("course")

PICTURES = (
    "image/svg+xml",
    "text/html",
)  # nbval itself leaves PNG out; the text beside a picture is compared


def pytest_ignore_collect(collection_path, config):
    """A learner's own notebooks are not tested; None leaves it to pytest."""
    own = collection_path.suffix == ".ipynb" and collection_path not in lessons.notebooks(
        config.rootpath / "notebooks"
    )
    return own or None


def pytest_collection_modifyitems(items):
    """On several cores (pytest-xdist): a notebook's cells stay together, since they share a kernel."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collectstart(collector):
    """Pictures and tables drawn as HTML differ between versions of what draws them."""
    if collector.__class__.__name__ == "IPyNbFile":
        collector.skip_compare += PICTURES
