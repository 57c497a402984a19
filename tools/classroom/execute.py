"""The step of `nbgrader autograde` that runs a submission: in the sandbox, whatever is in it.

The kernel runs inside, nbgrader and the gradebook stay outside. They talk through Unix sockets in the sandbox's /tmp.
A cell that takes too long, prints too much or ends the kernel gets an error as its output, which gives no points; a
fresh kernel goes on behind it, with the locked cells above it run again.

A check does not run in this kernel, where an answer may have changed everything: the kernel only hands the answer over,
and another process (verdicts.py) says what it is worth. That is kept here, and stands in the notebook when the kernel
is gone: whatever a kernel sends, and in whose name, reaches no verdict. docs/grading.md says who trusts whom.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nbformat
import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from nbclient.client import CellExecutionComplete
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_locked
from traitlets import Integer
from traitlets.config import Config

from hiding_latency.kernels import OwnKernel
from tools.classroom import sandbox, verdicts
from tools.classroom.assignment import checked
from tools.classroom.results import GIVEN, UNKNOWN
from tools.classroom.verdicts import CheckStopped, Judge, NoVerdict
from tools.classroom.watch import Watch, end, started
from tools.classroom.wire import FORM

MOST_OUTPUT = 2_000_000
"""Bytes that a cell may print or draw."""
MOST_IN_ALL = 10 * MOST_OUTPUT
"""Bytes that all cells of a submission may."""
ENDLESS = 2
"""Cells and checks that take all of their time, until the next ones have less."""
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


class UnsafeKernel(QuietKernel, OwnKernel):
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


@dataclass(frozen=True)
class Given:
    """What a check gave: its outputs, and its points; None where nobody knows what the answer is worth."""

    outputs: list[NotebookNode]
    points: float | None


class SandboxedExecute(Execute):
    """Runs a submission and always comes to its end."""

    timeout = Integer(120, help="seconds for a cell").tag(config=True)
    seconds_later = Integer(30, help="seconds for a cell behind endless ones").tag(config=True)
    all_seconds = Integer(600, help="seconds for a submission").tag(config=True)
    most_memory = Integer(sandbox.MOST_MEMORY, help="bytes that all its processes may have").tag(config=True)
    interrupt_on_timeout = False
    shutdown_kernel = "immediate"

    def __init__(self, *args: object, **kwargs: object) -> None:
        kernel = UnsafeKernel if sandbox.unsafe() else SandboxedKernel
        super().__init__(*args, **kwargs, kernel_manager_class=kernel, timeout_func=self._seconds)

    def preprocess(self, nb: NotebookNode, resources: dict, km: object = None) -> tuple[NotebookNode, dict]:
        if reason := sandbox.refusal():
            raise NbGraderException(reason)
        self.ends = time.monotonic() + self.all_seconds
        self.stopped = ""
        """Why a cell above the next check was stopped."""
        self.printed = self.printed_in_all = self.endless = 0
        self.given: dict[int, Given] = {}
        """What the checks gave, by the numbers of their cells."""
        self.watch = Watch(self.most_memory)
        self.judge = Judge(lessons_seen(self.config), self.most_memory)
        try:
            nb, resources = super().preprocess(nb, resources, km)
        finally:
            self.watch.stop()
            self.judge.stop()
        for index, given in self.given.items():  # now nobody is there any more who could change them
            nb.cells[index].outputs, nb.cells[index].metadata[GIVEN] = given.outputs, given.points
        return nb, resources

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type != "code" or not cell.source.strip():
            return cell, resources
        self.printed, seconds = 0, self._seconds(cell)
        self._display_id_map = {}  # a cell changes no output of an earlier one
        check = _asked_for(cell.source) if is_grade(cell) else None
        if check:
            self.given[index] = Given([_error("Not graded.")], 0.0)
        try:
            if why := self._over():
                self._fail(cell, index, f"Not run: {why}, which is all there is.")
                return cell, resources
            self.watch.begin(self.km.provisioner.pid)
            if check:
                self.given[index] = self._checked(cell, index, *check)
            else:
                super().preprocess_cell(cell, resources, index)
            if left := started(self.km.provisioner.pid):
                self._stop(cell, index, f"it left {left} process{'es' * (left > 1)} running")
        except CellTimeoutError:
            self.endless += 1
            self._stop(cell, index, f"no complete answer in {seconds} seconds, or a very large one")
        except DeadKernelError:
            printed = f"it printed more than {MOST_OUTPUT} bytes" if self.printed > MOST_OUTPUT else ""
            why = "the cell ended its kernel, or took more memory than there is"
            self._stop(cell, index, printed or self.watch.why or why)
        except (
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            RecursionError,
        ):  # nbclient believes what comes
            self._stop(cell, index, "its kernel sent what no kernel sends")
        finally:
            self.watch.rest()
        return cell, resources

    def _seconds(self, cell: NotebookNode) -> int:
        """That a cell may take; one of the assignment's own always has all."""
        return self.timeout if is_locked(cell) and not is_grade(cell) else self._fewer(self.timeout)

    def _fewer(self, seconds: int) -> int:
        """So many, or fewer: what comes behind endless cells shall have its turn, and the next submission too."""
        return seconds if self.endless < ENDLESS else min(seconds, self.seconds_later)

    def _over(self) -> str:
        """What the cells above have used up; "" where another one may run."""
        if self.printed_in_all > MOST_IN_ALL:
            return f"the cells above printed {MOST_IN_ALL} bytes"
        return f"the cells above took {self.all_seconds} seconds" if time.monotonic() > self.ends else ""

    def _checked(self, cell: NotebookNode, index: int, exercise: str, answer: str) -> Given:
        """What a check gives; "answer" is the expression that gives what is checked."""
        self.stopped, stopped = "", self.stopped
        try:
            packed = self._handed_over(f"_wire.hand_over({answer})", index)
            call = partial(self._called, index)
            said = self.judge.verdict(exercise, packed, call, self._fewer(verdicts.SECONDS))
        except NoAnswer as error:
            return Given([_error(stopped)] if stopped else error.outputs, 0.0)
        except NoVerdict as error:
            self.endless += 1
            return Given([_error(f"Stopped: {error}.")], 0.0)
        except CheckStopped as error:
            raise NbGraderException(str(error)) from None
        if unknown := said.get("unknown"):
            return Given([_error(UNKNOWN + unknown)], None)
        points = cell.metadata.nbgrader.points * bool(said["ok"])
        return Given(_outputs(said, points), float(points))

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
        """Count what comes, keep no more than allowed, and end the kernel that sends more. A learner's code may send
        anything in the kernel's name: what is no message is not heard, nor what works widgets, which no page shows."""
        size = len(repr(msg["content"]))
        self.printed, self.printed_in_all = self.printed + size, self.printed_in_all + size
        if self.printed > MOST_OUTPUT and msg["msg_type"] != "status":
            end(self.km.provisioner.pid)  # these were its last words
            return None
        if msg["msg_type"].startswith("comm"):
            return None
        try:
            return super().process_message(msg, cell, cell_index)
        except CellExecutionComplete:
            raise
        except Exception:
            return None

    def _stop(self, cell: NotebookNode, index: int, why: str) -> None:
        """Note why a cell was stopped; then a fresh kernel, and in it what the assignment gives above this cell."""
        self.watch.rest()
        self.stopped = f"Stopped: {why}."
        self._fail(cell, index, self.stopped)
        self._cleanup_kernel()
        self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for above in self.nb.cells[:index]:
            if above.cell_type == "code" and is_locked(above) and not is_grade(above):
                self.printed = 0
                self.execute_cell(above, self.nb.cells.index(above))

    def _fail(self, cell: NotebookNode, index: int, why: str) -> None:
        """Leave an error as the last output of a cell, and as the only one of a check, which gives no points then."""
        cell.outputs = [*cell.outputs[:20], _error(why)]
        if index in self.given:
            self.given[index] = Given([_error(why)], 0.0)


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
    shown = {"text/plain": f"{points:g}"}
    return [said, *pictures, nbformat.v4.new_output("execute_result", shown, execution_count=None)]


def _error(why: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename="NotGraded", evalue=why, traceback=[why])
