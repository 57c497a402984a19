"""What a notebook in the browser needs from the course, on any Python; in a browser: tests/browser/test_lite.py."""

import json
import os
import sys
from types import ModuleType, SimpleNamespace

import IPython
import pytest

from course_lib.exercises import logbook
from course_lib.lessons import lite
from ptxsim.compiler import cache, elsewhere

NAMED = {"metadata": {"notebook": "exercises/02_producer_consumer.ipynb"}}


@pytest.fixture(autouse=True)
def no_name(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    yield
    os.environ.pop("JPY_SESSION_NAME", None)


@pytest.fixture
def host(monkeypatch):
    """The page's host: what it answers to each method, and what it was asked."""
    host = SimpleNamespace(answers={}, asked=[])

    class Request:
        def open(self, method, address, wait):
            assert address == "/api/compile" and wait is False
            self.method = method

        def setRequestHeader(self, *_):
            pass

        def send(self, body):
            host.asked.append((self.method, body))
            self.status, self.responseText = host.answers[self.method]

    js = ModuleType("js")
    js.XMLHttpRequest = SimpleNamespace(new=Request)
    monkeypatch.setitem(sys.modules, "js", js)
    return host


def test_a_cells_metadata_names_its_notebook():
    lite.note_notebook(NAMED)
    assert os.environ["JPY_SESSION_NAME"] == "/drive/exercises/02_producer_consumer.ipynb"
    lite.note_notebook({"metadata": {}})  # a cell that the learner added
    assert os.environ["JPY_SESSION_NAME"] == "/drive/exercises/02_producer_consumer.ipynb"


@pytest.mark.parametrize("asked", [None, {}, {"metadata": {}}])
def test_a_cell_without_a_name_is_of_a_notebook_all_the_same(asked):
    lite.note_notebook(asked)
    assert os.environ["JPY_SESSION_NAME"].startswith("/drive/")


def test_progress_is_kept_in_the_browsers_storage(tmp_path, monkeypatch):
    shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=["my answer"]), user_ns={})
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr(lite, "DRIVE", tmp_path)
    lite.note_notebook(NAMED)
    logbook.keep_exercise("02.11", True)
    logbook.keep_prediction("slots", 2)
    solved, predicted = map(json.loads, (tmp_path / logbook.FILE).read_text().splitlines())
    assert solved["solved"] and predicted["lesson"] == "02"


def test_a_host_with_a_compiler_is_asked(host):
    host.answers = {"GET": (200, '{"compiler": "NVRTC 13.0"}'), "POST": (200, '{"ptx": "// PTX"}')}
    assert lite.ask_host({"source": "mine"}) == (200, {"ptx": "// PTX"})
    assert host.asked == [("GET", None), ("POST", '{"source": "mine"}')]


@pytest.mark.parametrize("answer", [(404, "<p>not found</p>"), (200, '{"compiler": null}'), (200, "[]")])
def test_a_host_without_a_compiler_is_not_sent_any_text(host, answer):
    host.answers = {"GET": answer}
    assert lite.ask_host({"source": "mine"}) == (503, {"error": lite.WITHOUT_COMPILER})
    assert host.asked == [("GET", None)]


def test_the_course_is_told_when_it_is_imported_there(monkeypatch):
    events = []
    kernel = SimpleNamespace(get_parent=lambda: NAMED)
    register = SimpleNamespace(register=lambda when, what: events.append(when))
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=kernel, events=register))
    monkeypatch.setattr(elsewhere, "_send", [])
    monkeypatch.setattr(cache, "HINTS", ["install it"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    lite.prepare()
    assert events == ["pre_run_cell"] and elsewhere._send == [lite.ask_host] and cache.HINTS == []
    assert os.environ["JPY_SESSION_NAME"].endswith("02_producer_consumer.ipynb")
