"""The exercises of lesson 09."""

from __future__ import annotations

import argparse
import shlex

import numpy as np

from cupy_or_sim.simulate import simulate

from .common import demand, demand_kernel, demand_no_hazard

COLUMNS = 128, 256, 200, 1000, 1
"""Of the rows that are tried: the author's own size first, then whole pieces, then what is left over."""


def _running_sums(kernel: object) -> None:
    demand_kernel(kernel)
    for columns in COLUMNS:
        x = np.random.default_rng(9).integers(-3, 4, (2, columns)).astype(np.float32)
        y = np.full_like(x, np.nan)
        report = simulate(kernel, (2,), (128,), (x, y, np.int32(columns)))
        demand_no_hazard(report)
        wrong = y != np.cumsum(x, axis=1)
        demand(
            not np.isnan(y).any(), f"with {columns} columns {np.isnan(y).sum()} sums are missing.", "missing"
        )
        first = np.argwhere(wrong)[0].tolist() if wrong.any() else []
        demand(
            not wrong.any(),
            f"with {columns} columns y{first} is the first of {wrong.sum()} sums that are wrong.",
        )


MATRICES, PLACES = 3, 2
"""Of the second exercise."""
PIECES = [f"{kind}{m}" for m in range(MATRICES) for kind in "CKR"]
"""Copy, kernel and result of each matrix, in the order in which the host asks for them."""


def _before(later: str, sooner: str) -> dict[str, set[str]]:
    """Of each piece of work those that are over when it begins, with one more wait."""
    known: dict[str, set[str]] = {}
    for at, piece in enumerate(PIECES):
        kind, m = piece[0], int(piece[1])
        stream = "C" if kind == "C" else "KR"
        waits = [other for other in PIECES[:at] if other[0] in stream][-1:]
        waits += [f"C{m}"] * (kind == "K") + [sooner] * (piece == later)
        known[piece] = {each for other in waits for each in (other, *known[other])}
    return known


def _wait(answer: object) -> None:
    fits = isinstance(answer, tuple) and len(answer) == 2 and all(each in PIECES for each in answer)
    demand(
        fits, f'the answer is two pieces of work, such as ("K1", "C1"), and not {answer!r:.60}.', "wrong-form"
    )
    later, sooner = answer
    demand(
        PIECES.index(sooner) < PIECES.index(later),
        f"{later} is asked for before {sooner}: there is no event yet that it could wait for.",
        "too-soon",
    )
    known = _before(later, sooner)
    for m in range(PLACES, MATRICES):
        copy, kernel = f"C{m}", f"K{m - PLACES}"
        demand(
            kernel in known[copy],
            f"nothing orders {copy}, which writes in[{m % PLACES}], and {kernel}, which reads it.",
            "no-order",
        )
    for m in range(1, MATRICES):
        copy, kernel = f"C{m}", f"K{m - 1}"
        demand(
            kernel not in known[copy],
            f"right, and slow: {copy} begins when {kernel} is over, so nothing is hidden behind {kernel}.",
            "hides-nothing",
        )


class _Command(argparse.ArgumentParser):
    """Of `ptxsim run`, what the exercise needs."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("files", nargs="*")
        self.add_argument("-I", dest="include", action="append", default=[])
        self.add_argument("-D", dest="define", action="append", default=[])
        self.add_argument("--arch")
        self.add_argument("--limit", type=float)
        self.add_argument("--json")

    def error(self, message: str) -> None:
        demand(False, f"ptxsim run would say: {message}.", "no-option")


def _command(answer: object) -> None:
    demand(isinstance(answer, str), f"the answer is a text, and not {answer!r:.60}.", "wrong-form")
    words = shlex.split(answer.removeprefix("python -m "))
    demand(words[:2] == ["ptxsim", "run"], f"the command begins with {' '.join(words[:2])!r}.", "wrong-form")
    end = words.index("--") if "--" in words else len(words)
    asked, own = _Command().parse_args(words[2:end]), words[end + 1 :]
    demand(
        asked.files == ["src/softmax.cu"], f"the files are {', '.join(asked.files) or 'none'}.", "other-file"
    )
    demand(own == ["8"], f"the program gets {own or 'nothing'}.", "other-arguments")
    demand([each.rstrip("/") for each in asked.include] == ["include"], "a header is not found.", "no-header")
    demand(asked.arch == "80", f"it is compiled for {asked.arch or '90, an H100'}.", "other-gpu")
    demand(asked.limit == 60, f"a launch may take {asked.limit or 600:g} seconds.", "other-limit")
    demand(asked.json == "report.json", f"the report goes to {asked.json or 'stderr only'}.", "no-json")


EXERCISES = {
    "09.1": _running_sums,
    "09.2": _wait,
    "09.3": _command,
}
