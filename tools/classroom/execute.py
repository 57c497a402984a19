"""The step of `nbgrader autograde` that runs a submission: in the sandbox, whatever is in it.

The kernel runs inside, nbgrader and the gradebook stay outside. They talk through Unix sockets in the sandbox's /tmp.
A cell that takes too long, prints too much or ends the kernel gets an error as its output, which gives no points; a
fresh kernel goes on behind it, with the locked cells above it run again.

A check does not run in this kernel, where an answer may have changed everything: the kernel only hands the answer over,
and what the other process (verdicts.py) says becomes the check's output.
"""

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import nbformat
import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_locked
from traitlets import Integer
from traitlets.config import Config

from tools.classroom import sandbox
from tools.classroom.assignment import checked
from tools.classroom.results import UNKNOWN
from tools.classroom.verdicts import CheckStopped, Judge, NoVerdict
from tools.classroom.watch import Watch, end, started
from tools.classroom.wire import FORM

MOST_OUTPUT = 2_000_000
"""Bytes that a cell may print or draw."""
CONNECTION = Path("/run/connection.json")  # inside, as the next one
SOCKETS = str(Path("/tmp", "k"))
WIRE = Path(__file__).resolve().with_name("wire.py")


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
        path = ["env", f"PYTHONPATH={sandbox.ROOT}"]
        return sandbox.limited([*path, *super().format_kernel_cmd(extra_arguments)])


class SandboxedKernel(QuietKernel):
    """A kernel inside, and the way to it."""

    transport = "ipc"
    ip = SOCKETS

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """The command that starts the kernel, with which kernel ever: this Python."""
        inside = [sys.executable, "-m", "ipykernel_launcher", "-f", str(CONNECTION), *(extra_arguments or [])]
        return sandbox.command(
            inside, {Path(self.connection_file): CONNECTION, WIRE: WIRE, **lessons_seen(self.config)}
        )

    async def _async_post_start_kernel(self, **kw: object) -> None:
        self.ip = f"/proc/{self.provisioner.pid}/root{SOCKETS}"  # the same sockets, seen from outside
        await super()._async_post_start_kernel(**kw)


def lessons_seen(config: Config) -> dict[Path, Path]:
    """Where a sandbox sees the lessons without their solutions. One by one: answers and figures of the course lie in
    that folder, too."""
    lessons = Path(config.CourseDirectory.root, "lessons").iterdir()
    return {each: sandbox.ROOT / "notebooks" / each.name for each in lessons}


class SandboxedExecute(Execute):
    """Runs a submission and always comes to its end."""

    timeout = Integer(120, help="seconds for a cell").tag(config=True)
    all_seconds = Integer(600, help="seconds for a submission").tag(config=True)
    most_memory = Integer(sandbox.MOST_MEMORY, help="bytes that all its processes may have").tag(config=True)
    interrupt_on_timeout = False
    shutdown_kernel = "immediate"

    def __init__(self, *args: object, **kwargs: object) -> None:
        kernel = UnsafeKernel if sandbox.unsafe() else SandboxedKernel
        super().__init__(*args, **kwargs, kernel_manager_class=kernel)

    def preprocess(self, nb: NotebookNode, resources: dict, km: object = None) -> tuple[NotebookNode, dict]:
        if reason := sandbox.refusal():
            raise NbGraderException(reason)
        self.ends = time.monotonic() + self.all_seconds
        self.stopped = ""
        """Why a cell above the next check was stopped."""
        self.watch = Watch(self.most_memory)
        self.judge = Judge(lessons_seen(self.config), self.most_memory)
        try:
            return super().preprocess(nb, resources, km)
        finally:
            self.watch.stop()
            self.judge.stop()

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type != "code" or not cell.source.strip():
            return cell, resources
        self.printed = 0
        try:
            if time.monotonic() < self.ends:
                self.watch.begin(self.km.provisioner.pid)
                if is_grade(cell) and (asked := _asked_for(cell.source)):
                    self._check(cell, index, *asked)
                else:
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

    def _check(self, cell: NotebookNode, index: int, exercise: str, answer: str) -> None:
        """Put the verdict on an answer into its check's outputs; "answer" is the expression that gives it."""
        cell.outputs = []
        self.stopped, stopped = "", self.stopped
        try:
            packed = self._handed_over(f"_wire.hand_over({answer})", index)
            given = self.judge.verdict(exercise, packed, partial(self._called, index))
        except NoAnswer as error:
            cell.outputs = [_error(stopped)] if stopped else error.outputs
        except NoVerdict as error:
            _fail(cell, f"Stopped: {error}.")
        except CheckStopped as error:
            raise NbGraderException(str(error)) from None
        else:
            unknown = given.get("unknown")
            points = cell.metadata.nbgrader.points
            cell.outputs = [_error(UNKNOWN + unknown)] if unknown else _outputs(given, points)

    def _called(self, index: int, number: int, arguments: object) -> object:
        """What a function of the answer gives, or the exception that it raises."""
        try:
            return self._handed_over(
                f"_wire.hand_over_result({int(number)}, {json.dumps(arguments)!r})", index
            )
        except NoAnswer:
            return {"error": ["RuntimeError", "nothing came back"]}

    def _handed_over(self, code: str, index: int) -> object:
        """What this code in the learner's kernel hands over: it may be anything. Raises NoAnswer if nothing is."""
        cell = self.nb.cells[index]
        asked = nbformat.v4.new_code_cell(f"from tools.classroom import wire as _wire\n{code}")
        try:
            self.execute_cell(asked, index, store_history=False)
        finally:
            self.nb.cells[index] = cell  # nbclient puts there what it runs
        texts = [output.data[FORM] for output in asked.outputs if FORM in output.get("data", {})]
        try:
            return json.loads(texts[-1])
        except (IndexError, TypeError, ValueError, RecursionError):
            raise NoAnswer(
                [_as_text(each) for each in asked.outputs if each.output_type == "error"]
            ) from None

    def process_message(self, msg: dict, cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        """Count what comes, keep no more than allowed, and end the kernel that sends more."""
        self.printed += len(repr(msg["content"]))
        if self.printed > MOST_OUTPUT and msg["msg_type"] != "status":
            end(self.km.provisioner.pid)  # these were its last words
            return None
        return super().process_message(msg, cell, cell_index)

    def _stop(self, cell: NotebookNode, index: int, why: str) -> None:
        """Note why a cell was stopped; then a fresh kernel, and in it what the assignment gives above this cell."""
        self.watch.pid, self.stopped = 0, f"Stopped: {why}."
        _fail(cell, self.stopped)
        self._cleanup_kernel()
        self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for above in self.nb.cells[:index]:
            if above.cell_type == "code" and is_locked(above) and not is_grade(above):
                self.printed = 0
                self.execute_cell(above, self.nb.cells.index(above))


class NoAnswer(Exception):
    """The learner's kernel has handed nothing over; `outputs` say why."""

    def __init__(self, errors: list[NotebookNode]) -> None:
        self.outputs = errors or [_error("The answer cannot be read.")]


def _as_text(error: NotebookNode) -> NotebookNode:
    """An error as it must be: a kernel may send anything in its place."""
    parts = {name: str(error.get(name, "")) for name in ("ename", "evalue")}
    return nbformat.v4.new_output("error", traceback=list(map(str, error.get("traceback", ()))), **parts)


def _asked_for(source: str) -> tuple[str, str] | None:
    """(exercise, the expression of its answer) of a check; None of a test that a teacher wrote in another way."""
    try:
        return checked(source)[1:]
    except (ValueError, SyntaxError):
        return None


def _outputs(verdict: dict, points: float) -> list[NotebookNode]:
    """A verdict as a check's outputs: what it says, pictures, and the points, which nbgrader reads."""
    said = nbformat.v4.new_output("stream", name="stdout", text=f"{verdict['said']}\n")
    pictures = [
        nbformat.v4.new_output(
            "display_data",
            {"image/svg+xml": svg, "text/plain": alt},
            metadata={"image/svg+xml": {"alt": alt}},
        )
        for svg, alt in verdict["pictures"]
    ]
    shown = {"text/plain": f"{points * verdict['ok']:g}"}
    return [said, *pictures, nbformat.v4.new_output("execute_result", shown, execution_count=None)]


def _fail(cell: NotebookNode, why: str) -> None:
    """Leave an error as the last output of a cell."""
    cell.outputs = cell.outputs[:20]
    cell.outputs.append(_error(why))


def _error(why: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename="NotGraded", evalue=why, traceback=[why])
