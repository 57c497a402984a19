"""The step of `nbgrader autograde` that runs a submission: in the sandbox, whatever is in it.

The kernel runs inside, nbgrader and the gradebook stay outside. They talk through Unix sockets in the sandbox's /tmp.
A cell that takes too long, prints too much or ends the kernel gets an error as its output, which gives no points; a
fresh kernel goes on behind it, with the locked cells above it run again.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_locked
from traitlets import Integer

from tools.classroom import sandbox

MOST_OUTPUT = 2_000_000
"""Bytes that a cell may print or draw."""
MOST_PROCESSES = 10
"""That a cell may start. The sandbox's own limit counts threads, of which a kernel alone has a dozen."""
CONNECTION = Path("/run/connection.json")  # inside, as the next one
SOCKETS = str(Path("/tmp", "k"))


class SandboxedKernel(AsyncKernelManager):
    """A kernel inside, and the way to it."""

    transport = "ipc"
    ip = SOCKETS

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """The command that starts the kernel, with which kernel ever: this Python."""
        inside = [sys.executable, "-m", "ipykernel_launcher", "-f", str(CONNECTION), *(extra_arguments or [])]
        lessons = Path(self.config.CourseDirectory.root, "lessons").iterdir()
        # One by one: answers and figures of the course lie in that folder, too.
        seen = {each: sandbox.ROOT / "notebooks" / each.name for each in lessons}
        return sandbox.command(inside, {Path(self.connection_file): CONNECTION, **seen})

    async def _async_post_start_kernel(self, **kw: object) -> None:
        self.ip = f"/proc/{self.provisioner.pid}/root{SOCKETS}"  # the same sockets, seen from outside
        await super()._async_post_start_kernel(**kw)

    def client(self, **kwargs: object) -> AsyncKernelClient:
        """A client that takes no message larger than a cell may print."""
        client = super().client(**kwargs)
        client.context.setsockopt(zmq.MAXMSGSIZE, MOST_OUTPUT)
        return client


class SandboxedExecute(Execute):
    """Runs a submission and always comes to its end."""

    timeout = Integer(120, help="seconds for a cell").tag(config=True)
    all_seconds = Integer(600, help="seconds for a submission").tag(config=True)
    interrupt_on_timeout = False
    shutdown_kernel = "immediate"

    def __init__(self, *args: object, **kwargs: object) -> None:
        kernel = AsyncKernelManager if sandbox.unsafe() else SandboxedKernel
        super().__init__(*args, **kwargs, kernel_manager_class=kernel)

    def preprocess(self, nb: NotebookNode, resources: dict, km: object = None) -> tuple[NotebookNode, dict]:
        if reason := sandbox.refusal():
            raise NbGraderException(reason)
        self.ends = time.monotonic() + self.all_seconds
        over, self.watched = threading.Event(), 0
        threading.Thread(target=self._watch, args=(over,), daemon=True).start()
        try:
            return super().preprocess(nb, resources, km)
        finally:
            over.set()

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type != "code" or not cell.source.strip():
            return cell, resources
        self.printed, self.crowded = 0, False
        try:
            if time.monotonic() < self.ends:
                self.watched = self.km.provisioner.pid
                super().preprocess_cell(cell, resources, index)
                if left := _started(self.watched):
                    self._stop(cell, index, f"it left {left} processes running")
                return cell, resources
            _fail(cell, f"Not run: the cells above took {self.all_seconds} seconds, which is all there is.")
        except CellTimeoutError:
            self._stop(cell, index, f"no complete answer in {self.timeout} seconds, or a very large one")
        except DeadKernelError:
            why = "the cell ended its kernel, or took more memory than there is"
            if self.printed > MOST_OUTPUT:
                why = f"it printed more than {MOST_OUTPUT} bytes"
            elif self.crowded:
                why = f"it started more than {MOST_PROCESSES} processes"
            self._stop(cell, index, why)
        finally:
            self.watched = 0
        return cell, resources

    def process_message(self, msg: dict, cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        """Count what comes, keep no more than allowed, and end the kernel that sends more."""
        self.printed += len(repr(msg["content"]))
        if self.printed > MOST_OUTPUT and msg["msg_type"] != "status":
            with contextlib.suppress(ProcessLookupError):  # these were its last words
                os.kill(self.km.provisioner.pid, signal.SIGKILL)
            return None
        return super().process_message(msg, cell, cell_index)

    def _watch(self, over: threading.Event) -> None:
        """End the kernel of a cell that starts more and more processes, long before its time is up.

        `watched` is 0 between cells: a sandbox that is being made still shows all processes of this machine.
        """
        while not over.wait(0.5):
            pid = self.watched
            if pid and _started(pid) > MOST_PROCESSES:
                self.crowded = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _stop(self, cell: NotebookNode, index: int, why: str) -> None:
        """Note why a cell was stopped; then a fresh kernel, and in it what the assignment gives above this cell."""
        self.watched = 0
        _fail(cell, f"Stopped: {why}.")
        self._cleanup_kernel()
        self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for above in self.nb.cells[:index]:
            if above.cell_type == "code" and is_locked(above) and not is_grade(above):
                self.printed = 0
                self.execute_cell(above, self.nb.cells.index(above))


def _started(pid: int) -> int:
    """How many processes a sandbox has beside its first one and the kernel. `pid`: of the process outside."""
    inside = Path(f"/proc/{pid}/root/proc")
    return 0 if sandbox.unsafe() else max(0, len(list(inside.glob("[0-9]*"))) - 2)


def _fail(cell: NotebookNode, why: str) -> None:
    """Leave an error as the last output of a cell."""
    cell.outputs = cell.outputs[:20]
    error = {"output_type": "error", "ename": "NotGraded", "evalue": why, "traceback": [why]}
    cell.outputs.append(NotebookNode(error))
