"""Ctrl-C: it is heard while a library works, and a notebook shows it in a line."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class MessageOnly:
    """Mixed into an exception: a notebook shows its message, and no traceback full of paths."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class Interrupted(MessageOnly, KeyboardInterrupt):
    """Ctrl-C, or the stop button of a notebook."""


@contextmanager
def interruptible(what: str) -> Iterator[None]:
    """A Ctrl-C meanwhile is raised with the words what it stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"{what} was stopped") from None


THREADS = sys.platform not in ("emscripten", "wasi")
"""Whether a thread can be started: not by Python in a browser."""


_choosing_a_stack = threading.Lock()


def in_background(work: Callable[[], T], stack: int = 0) -> Future[T]:
    """Do it in a thread of its own, which does not keep the program from ending; at once where there are no threads.

    `stack`: bytes that it has for what calls itself, where there is so much address space; 0: as usual."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    if THREADS:
        _start(threading.Thread(target=run, daemon=True), stack)
    else:
        run()
    return result


def _start(thread: threading.Thread, stack: int) -> None:
    with _choosing_a_stack:  # Python knows one size for all threads that begin
        usual = threading.stack_size(stack)
        try:
            thread.start()
            return
        except RuntimeError:
            if not stack:
                raise
        finally:
            threading.stack_size(usual)
    thread.start()


def result_of(future: Future[T], what: str) -> T:
    """Wait for it, in short pieces: between them a Ctrl-C is heard. `what` is at work."""
    # A queue, as it waits in C: a Ctrl-C amid a Condition's wait, which is in Python, can end as a RuntimeError.
    ended: SimpleQueue[Future[T]] = SimpleQueue()
    with interruptible(what):
        future.add_done_callback(ended.put)
        while not future.done():
            with suppress(Empty):
                ended.get(timeout=0.1)
        return future.result()
