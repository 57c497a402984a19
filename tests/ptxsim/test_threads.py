"""Work in a thread: a Ctrl-C while it is waited for; and where none can be started, as in a browser, it is done at
once."""

import sys
import threading
import time
from itertools import count

import pytest

from ptxsim.ground import interrupts


@pytest.fixture
def no_threads(monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    monkeypatch.setattr(interrupts, "THREADS", False)


def test_the_result_is_there(no_threads):
    assert interrupts.result_of(interrupts.in_background(lambda: 42), "the test") == 42


def test_where_there_is_no_room_for_a_large_stack_the_usual_one_does():
    usual = threading.stack_size()
    assert interrupts.in_background(lambda: 42, stack=1 << 45).result() == 42
    assert threading.stack_size() == usual


def test_an_error_is_raised_where_the_result_is_asked_for(no_threads):
    failed = interrupts.in_background(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        interrupts.result_of(failed, "the test")


def test_a_ctrl_c_is_a_ctrl_c_wherever_it_comes():
    """At any call of a Python function beneath the wait, as Python looks for one there: never another error, and a
    message in all but those that begin and end the wait."""
    raised = []
    for nth in count(1):
        work = interrupts.in_background(lambda: time.sleep(0.15))
        calls = 0

        def interrupt(frame, event, argument, nth=nth):
            nonlocal calls
            calls += 1
            if calls == nth:
                raise KeyboardInterrupt

        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            interrupts.result_of(work, "the test")
            break
        except BaseException as error:
            raised.append(error)
        finally:
            sys.settrace(before)
    assert raised and all(isinstance(error, KeyboardInterrupt) for error in raised), raised
    assert sum(isinstance(error, interrupts.Interrupted) for error in raised) > len(raised) / 2, raised
