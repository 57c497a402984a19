"""Where no thread can be started, as in a browser, work is done at once."""

import threading

import pytest

from ptxsim import interrupts


@pytest.fixture
def no_threads(monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    monkeypatch.setattr(interrupts, "THREADS", False)


def test_the_result_is_there(no_threads):
    assert interrupts.result_of(interrupts.in_background(lambda: 42), "the test") == 42


def test_an_error_is_raised_where_the_result_is_asked_for(no_threads):
    failed = interrupts.in_background(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        interrupts.result_of(failed, "the test")
