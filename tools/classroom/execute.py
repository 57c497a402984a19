"""The step of `nbgrader autograde` that runs a submission: in the sandbox, whatever is in it.

The kernel runs inside, nbgrader and the gradebook stay outside. They talk through Unix sockets in the sandbox's /tmp.
A cell that takes too long, prints too much or ends the kernel gets an error as its output, which gives no points; a
fresh kernel goes on behind it, with the locked cells above it run again.
"""

import subprocess
import sys
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
from tools.classroom.watch import MOST_MEMORY, Watch, end, started

MOST_OUTPUT = 2_000_000
"""Bytes that a cell may print or draw."""
CONNECTION = Path("/run/connection.json")  # inside, as the next one
SOCKETS = str(Path("/tmp", "k"))


class QuietKernel(AsyncKernelManager):
    """A kernel that writes nowhere past Jupyter's messages, which are counted."""

    async def _async_pre_start_kernel(self, **kw: object) -> tuple[list[str], dict]:
        command, kw = await super()._async_pre_start_kernel(**kw)
        return command, kw | {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def client(self, **kwargs: object) -> AsyncKernelClient:
        """A client that takes no message larger than a cell may print."""
        client = super().client(**kwargs)
        client.context.setsockopt(zmq.MAXMSGSIZE, MOST_OUTPUT)
        return client


class UnsafeKernel(QuietKernel):
    """A kernel of a teacher who trusts the submission: with limits, and no sandbox."""

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        return sandbox.limited(super().format_kernel_cmd(extra_arguments))


class SandboxedKernel(QuietKernel):
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


class SandboxedExecute(Execute):
    """Runs a submission and always comes to its end."""

    timeout = Integer(120, help="seconds for a cell").tag(config=True)
    all_seconds = Integer(600, help="seconds for a submission").tag(config=True)
    most_memory = Integer(MOST_MEMORY, help="bytes that all its processes may have").tag(config=True)
    interrupt_on_timeout = False
    shutdown_kernel = "immediate"

    def __init__(self, *args: object, **kwargs: object) -> None:
        kernel = UnsafeKernel if sandbox.unsafe() else SandboxedKernel
        super().__init__(*args, **kwargs, kernel_manager_class=kernel)

    def preprocess(self, nb: NotebookNode, resources: dict, km: object = None) -> tuple[NotebookNode, dict]:
        if reason := sandbox.refusal():
            raise NbGraderException(reason)
        self.ends = time.monotonic() + self.all_seconds
        self.watch = Watch(self.most_memory)
        try:
            return super().preprocess(nb, resources, km)
        finally:
            self.watch.stop()

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type != "code" or not cell.source.strip():
            return cell, resources
        self.printed = 0
        try:
            if time.monotonic() < self.ends:
                self.watch.begin(self.km.provisioner.pid)
                super().preprocess_cell(cell, resources, index)
                if left := started(self.km.provisioner.pid):
                    self._stop(cell, index, f"it left {left} processes running")
                return cell, resources
            _fail(cell, f"Not run: the cells above took {self.all_seconds} seconds, which is all there is.")
        except CellTimeoutError:
            self._stop(cell, index, f"no complete answer in {self.timeout} seconds, or a very large one")
        except DeadKernelError:
            printed = f"it printed more than {MOST_OUTPUT} bytes" if self.printed > MOST_OUTPUT else ""
            why = "the cell ended its kernel, or took more memory than there is"
            self._stop(cell, index, printed or self.watch.why or why)
        finally:
            self.watch.pid = 0
        return cell, resources

    def process_message(self, msg: dict, cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        """Count what comes, keep no more than allowed, and end the kernel that sends more."""
        self.printed += len(repr(msg["content"]))
        if self.printed > MOST_OUTPUT and msg["msg_type"] != "status":
            end(self.km.provisioner.pid)  # these were its last words
            return None
        return super().process_message(msg, cell, cell_index)

    def _stop(self, cell: NotebookNode, index: int, why: str) -> None:
        """Note why a cell was stopped; then a fresh kernel, and in it what the assignment gives above this cell."""
        self.watch.pid = 0
        _fail(cell, f"Stopped: {why}.")
        self._cleanup_kernel()
        self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for above in self.nb.cells[:index]:
            if above.cell_type == "code" and is_locked(above) and not is_grade(above):
                self.printed = 0
                self.execute_cell(above, self.nb.cells.index(above))


def _fail(cell: NotebookNode, why: str) -> None:
    """Leave an error as the last output of a cell."""
    cell.outputs = cell.outputs[:20]
    error = {"output_type": "error", "ename": "NotGraded", "evalue": why, "traceback": [why]}
    cell.outputs.append(NotebookNode(error))
