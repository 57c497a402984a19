"""Verdicts on the exercises: passed, or not yet, with the finding and the one hint that fits it."""

import html
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cupy_or_sim import style
from ptxsim import KINDS as TABLE
from ptxsim import CompileError, Hazard, line_link
from ptxsim.compiler import ToolMissing

from . import logbook
from .answers import exercises
from .hints import fitting, hints, smaller_steps

GAP = "____"
STEP_AT = 3
"""From so many answers in a row on that are not right, a smaller step is offered."""
ONE_WARP_WAITS = "one-warp-waits"
"""The word for a race of two warps between which the source has a `__syncwarp()`."""
BEYOND = {"many-k-tiles", "many-blocks", "many-pieces"}
"""Words for what is right as far as most of the check goes: a smaller step lies behind such an answer."""
NOT_COMPILED = "does-not-compile"
"""The word for a source that the compiler refuses."""
NO_INFINITY = "no-infinity"
"""The word for one that it refuses because it does not know `INFINITY`, which is of the C library."""
FLOOR_DIVISION = "floor-division"
"""The word for one with Python's `//`, which begins a comment here."""
DIVIDED = re.compile(r"[\w)\]] ?// ?(\(|\d+\b|[a-zA-Z_][\w.]* ?[;)\]%*])")
"""Code, `//` and what looks like a divisor; a comment stands behind a `;` or a brace, or further away."""
KINDS = {kind.name for kind in TABLE}
LINE = re.compile(r"\bline (\d+)\b(?! of (?!kernel\.cu))")
"""A line of the kernel; not "line 9 of cp_async.cuh"."""
CANDIDATE = re.compile(r'built-in operator |function "operator\W|.*: note #\d+-D: .*"operator\W')
"""A line for one of the operators between which the compiler cannot choose: the types beside them tell more."""
THREAD = re.compile(r"thread (\d+)\b")
OF_COMPILER = re.compile(r"\bkernel\.cu\((\d+)\)")
"""The same, as the compiler writes it of a file that a learner does not have."""


@dataclass(frozen=True, repr=False)
class ExerciseVerdict:
    """What `check_exercise` returns; `ok` says whether the exercise is solved. `kernel`: the name of the one in the
    answer, "" if none is. `hazards`: those that it names, and none of the altered kernels that a check tries."""

    name: str
    ok: bool
    text: str
    kernel: str = ""
    hazards: tuple[Hazard, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name} {'passed' if self.ok else 'not yet'}: {self.text}"

    def _repr_html_(self) -> str | None:
        """The same text, in which lines of the kernel are links; None, so that the text alone is shown, if there is
        none."""
        if not self.kernel:
            return None
        page, links = LINE.subn(
            lambda line: line_link(self.kernel, int(line[1]), line[0], self.text),
            html.escape(repr(self), quote=False),
        )
        style = "white-space:pre-wrap;word-break:normal;overflow-wrap:break-word;margin:0;padding:0"
        return f'<pre style="{style}">{page}</pre>' if links else None


def check_exercise(name: str, answer: object) -> ExerciseVerdict:
    """The verdict on an answer: a kernel, or what the exercise asks for. A wrong answer raises nothing. What an access
    pattern is blamed for is drawn."""
    known = exercises()
    if name not in known:
        raise ValueError(f"there is no exercise {name!r}; exercises: {', '.join(known)}")
    parts = answer if isinstance(answer, tuple) else (answer,)
    if any(part is None or GAP in _text(part) for part in parts):
        return ExerciseVerdict(name, False, "there is still a gap (None or ____) to fill.")
    kernel = next((part.name for part in parts if hasattr(part, "code")), "")
    verdict, words = judged(name, answer, known[name])
    verdict = replace(verdict, kernel=kernel)
    logbook.keep_exercise(name, verdict.ok)
    if verdict.ok:
        _not_yet.pop(name, None)
        return verdict
    return _with_a_smaller_step(verdict, words)


def _text(part: object) -> str:
    """Of a kernel, or of a program; "" of all else."""
    return part if isinstance(part, str) else getattr(part, "code", "")


_not_yet: Counter[str] = Counter()
"""Exercise -> answers in a row that were not right, in this session."""


def _with_a_smaller_step(verdict: ExerciseVerdict, words: Sequence[str]) -> ExerciseVerdict:
    """The same verdict; from the third one in a row on it ends with a smaller step, where there is one that
    this answer has not passed. What the compiler refuses is no step in the wrong direction: it does not count."""
    if NOT_COMPILED in words:
        return verdict
    _not_yet[verdict.name] += 1
    steps = smaller_steps(verdict.name)
    if not steps or _not_yet[verdict.name] < STEP_AT or BEYOND.intersection(words):
        return verdict
    step = fitting(steps, words)
    return replace(verdict, text=f"{verdict.text}\nA smaller step: {step}") if step else verdict


def judged(name: str, answer: object, test: Callable) -> tuple[ExerciseVerdict, Sequence[str]]:
    """The verdict of one test, and the words of what was found. Of a right answer a test may return a remark, a text;
    what else it returns is for other tests."""
    try:
        remark = test(answer)
    except ToolMissing:
        raise
    except CompileError as error:
        first, said = _first_error(str(error)), hints(name)
        word = NO_INFINITY if re.search('"(INFINITY|FLT_MAX)" is undefined', str(error)) else NOT_COMPILED
        word = FLOOR_DIVISION if _divides_as_python(first, _source(answer)) else word
        hint = f" Hint: {said[word]}" if word in said else ""
        return ExerciseVerdict(name, False, f"it does not compile. {first}{hint}"), (NOT_COMPILED,)
    except (AssertionError, ValueError, TypeError, RuntimeError) as error:
        if picture := getattr(error, "picture", None):
            style.show(*picture)
        words = _words(error, _source(answer))
        told = f"{_in_short(str(error))} Hint: {fitting(hints(name), words)}"
        return ExerciseVerdict(name, False, told, hazards=_hazards(error)), words
    passed = "right: the check finds no mistake in it."
    return ExerciseVerdict(name, True, f"{passed} {remark}" if isinstance(remark, str) else passed), ()


def _hazards(error: Exception) -> tuple[Hazard, ...]:
    """What a finding is about, the most serious first; () where it is about something else."""
    return tuple(getattr(error, "hazards", ()))


def _source(answer: object) -> str:
    """The text of the kernel in an answer; "" if there is none."""
    parts = answer if isinstance(answer, tuple | list) else (answer,)
    return next((part.code for part in parts if isinstance(getattr(part, "code", None), str)), "")


def _words(error: Exception, source: str = "") -> list[str]:
    """Of each hazard, the most serious first, its cause and then its kind; then the causes of the check itself. Before
    all of them ONE_WARP_WAITS, if the first hazard of this `source` is that."""
    hazards = _hazards(error)
    words = [word for hazard in hazards for word in (hazard.cause, hazard.kind)]
    first = [ONE_WARP_WAITS] if hazards and _one_warp_waits(hazards[0], source) else []
    return first + words + list(getattr(error, "causes", ()))


def _one_warp_waits(hazard: Hazard, source: str) -> bool:
    """Whether two warps race, and a `__syncwarp()` stands on the way from the first access to the second."""
    if hazard.cause != "no-barrier" or not hazard.meeting:
        return False
    warps = {int(found[1]) // 32 for each in hazard.meeting[:2] if (found := THREAD.match(each))}
    # the last line that a place names is the learner's own
    earlier = LINE.findall(hazard.meeting.other_place)[-1:]
    if len(warps) < 2 or not earlier:
        return False
    first, last = int(earlier[0]), hazard.call_line or hazard.line
    text = [line.partition("//")[0] for line in source.splitlines()]
    # in a loop the second access may stand above the first one, or be the same line
    between = text[first - 1 : last] if first < last else text[first - 1 :] + text[:last]
    return any("__syncwarp" in line for line in between)


def _first_error(log: str) -> str:
    """The first error of a compiler's log and what is said of it, such as the types of the arguments, in one line;
    without the source that the log quotes, and the mark below it."""
    said = next((part for part in log.split("\n\n") if "error" in part), log).splitlines()
    marks = [number for number, line in enumerate(said) if line.strip() == "^"]
    quoted = {*marks, *(number - 1 for number in marks)}
    kept = (line.strip() for number, line in enumerate(said) if number not in quoted)
    text = "; ".join(line for line in kept if not CANDIDATE.match(line))
    return OF_COMPILER.sub(r"line \1", text)


def _divides_as_python(error: str, source: str) -> bool:
    """Whether a `//` that is meant as a division stands in the line of a compiler's error, or in the one above, whose
    end is then missed."""
    last = int(line[1]) if (line := LINE.search(error)) else 0
    return any(DIVIDED.search(each) for each in source.splitlines()[max(last - 2, 0) : last])


def _in_short(finding: str) -> str:
    """The most telling line of a long finding: kind and line of a hazard, a known mistake, what is wrong."""
    hazard = rf"(?:{'|'.join(KINDS)}) at .*?(?=: | \()"
    known = r"(?:What was written equals|In row|Row|Column|k =|Each number of C is there) .*"
    for pattern in (hazard, known, r"\d+ of .*"):
        # from its first word, or the subject is lost
        if found := re.search(f"^{pattern}", finding, re.MULTILINE):
            return found[0].rstrip(" .") + "."
    return finding.partition("\n")[0]
