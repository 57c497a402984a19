"""Settings of all tests: hypothesis, which notebooks are run, and in which order."""

import gc
import os
import re
import signal
from pathlib import Path

import hypothesis
import pytest

from course_lib.exercises.predictions import TELL
from course_lib.lessons import sources
from ptxsim.compiler import cache

hypothesis.settings.register_profile(
    "course",
    deadline=None,  # the first example compiles, the others do not
    derandomize=bool(os.environ.get("CI")),  # in CI the same examples every time
    # what fails names the values that it failed on; to look for simpler ones takes minutes for each test
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate],
    print_blob=True,
)
hypothesis.settings.register_profile(
    "simplest", hypothesis.settings.get_profile("course"), phases=[*hypothesis.Phase]
)
"""`--hypothesis-profile simplest` looks for them."""
hypothesis.settings.load_profile("course")

TESTS = Path(__file__).parent / "tests"
pytest_plugins = ["hiding_latency.compared"]
"""What nbval compares."""
JUDGED = ("test_mutants.py", "test_sanitizer.py")
"""Their tests name a kernel first, in brackets."""
BROWSER = (
    "browser/test_book.py",
    "browser/test_lab.py",
    "browser/test_explore_page.py",
    "browser/test_live.py",
    "browser/test_live_more.py",
    "browser/test_live_lessons.py",
)
SHARED = ("test_types.py", ".ipynb", *BROWSER)
"""All tests of such a file share what the first ones computed."""
QUICK = ("test_instructions.py", "test_instruction_results.py", "test_counters.py", "test_answers.py")
"""Their tests take milliseconds, about as long as handing out one: all cases of a function go out together."""
LONG = ("tests/browser/", "tests/tools/", "tests/ptxsim/clock/", "notebooks/")
"""Here one test, or a group, takes up to minutes: they begin first, so that none is alone at the end."""
MOST_WORKERS = 4


def pytest_configure(config):
    """A shell starts what runs in the background deaf to Ctrl-C, with all its children; some tests send one."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if TESTS.is_dir():  # a copy of this file may stand alone
        from tests import kept_texts, ran

        kept_texts.use()
        config.pluginmanager.register(ran)


@pytest.fixture(scope="module")
def compiled_anew():
    """No text of an earlier run: these tests look at the compiler, or their kernels are new in each run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(cache.REUSE, raising=False)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """A notebook's kernel begins with its first cell: the lessons show what came out, without a prediction."""
    with pytest.MonkeyPatch.context() as patch:
        if item.nodeid.partition("::")[0].endswith(".ipynb"):
            patch.setenv(TELL, "1")
        return (yield)


def pytest_ignore_collect(collection_path, config):
    """A learner's own notebooks are not tested; None leaves it to pytest."""
    folder = config.rootpath / "notebooks"
    ours = sampled(folder) if folder.name in config.args else sources.every_notebook(folder)
    return (collection_path.suffix == ".ipynb" and collection_path not in ours) or None


def sampled(folder: Path) -> list[Path]:
    """Of a folder of notebooks that is tested as a whole: the lessons, every other one of what goes deeper, every third
    of more exercises. Each of these starts a kernel for a few cells, of kinds that the others have too."""
    if not TESTS.is_dir():
        return sources.every_notebook(folder)
    from tests.sample import one_in

    deeper, exercises = sources.deeper_notebooks(folder), sources.exercise_notebooks(folder)
    return [*sources.notebooks(folder), *one_in(2, deeper), *one_in(3, exercises)]


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish():
    """Thousands of tests stay to the end: the garbage collector need not look at them again and again. It looks less
    often, too: the simulator makes many small objects and few cycles, and collecting took an eighth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: a test in a browser, or of a server, waits for most of its time."""
    return min((os.cpu_count() or 1) + 1, MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """On several cores (pytest-xdist) tests that share something stay in one process.

    Not by its own marks, xdist_group: pytest 9.2 gives a test no new name after it was collected, and they do nothing.
    """
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return together(nodeid)

    return Together(config, log)


def together(nodeid: str) -> str:
    """The group of a test: a notebook's cells share a kernel, and judged.py simulates a mutant once for all who ask."""
    file, _, test = nodeid.partition("::")
    if file.endswith(SHARED):
        return file
    if file.endswith(QUICK):
        return nodeid.partition("[")[0]
    kernel = re.match(r"[^[]*\[([\w.]+)", test)
    return kernel[1] if kernel and file.endswith(JUDGED) else nodeid
