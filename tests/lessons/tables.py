"""Tables of cases as text: what is changed in a kernel or in a solution, and the words that this must get.

    03.2
        no barrier: all parts have arrived
            -         __syncthreads();
        the other slot: on its way to
            k_tile % 2 -> (k_tile + 1) % 2
            - $WAIT
            -     multiply…
            +     multiply…

An exercise; below it each case: what is wrong, a colon, the words; below that the changes, four blanks further in each
time. `old -> new` changes a text within a line, `old ->` takes it away. Lines with - and then lines with + are whole
lines, as they stand in the source; … says that the text ends there, before its line does. A blank line may stand
between two changes. `$WAIT` is the text of that name; a room hands its names over as `**globals()`.
"""

import re
from pathlib import Path
from string import Template

CHANGE = re.compile(r"((?:-(?: .*)?\n)+)((?:\+(?: .*)?\n)*)|(?![-+] )(\S.*?) ->(?: (\S.*))?\n")
HEADLINE = re.compile(r"(\S.*?):(?: (\S.*))?")

Change = tuple[str, str]
"""(text that is there, new text)"""


def beside(room: str, ending: str) -> str:
    """The text in the file that stands beside a room, `lesson_01.wrong.txt` beside `lesson_01.py`."""
    return Path(room).with_suffix(f".{ending}").read_text(encoding="utf-8")


def answers_beside(room: str, /, **texts) -> tuple[dict, dict]:
    """The right and the wrong answers in the two files that stand beside a room."""
    return right_answers(beside(room, "right.txt"), **texts), wrong_answers(
        beside(room, "wrong.txt"), **texts
    )


def wrong_answers(text: str, /, **texts) -> dict[str, list[tuple[str, list[Change], str]]]:
    """{exercise: [(what is wrong, changes, words of the verdict)]}"""
    return {
        exercise: [(what, changes, words) for what, words, changes in _with_words(lines, texts)]
        for exercise, lines in _exercises(text)
    }


def right_answers(text: str, /, **texts) -> dict[str, list[tuple[str, list[Change]]]]:
    """{exercise: [(how it is written, changes)]}; here a case has no words."""
    return {exercise: _cases(lines, texts) for exercise, lines in _exercises(text)}


def variants(text: str, /, **texts) -> list[tuple[str, str, str, str]]:
    """[(what is wrong, text to replace, new text, pattern of what the check says)]; no exercise above."""
    found = []
    for what, words, changes in _with_words(text.strip("\n").splitlines(), texts):
        if len(changes) != 1:
            raise ValueError(f"{what!r} has {len(changes)} changes; a variant of a kernel has one")
        found.append((what, *changes[0], words))
    return found


def _exercises(text):
    exercises = _parts(text.strip("\n").splitlines())
    names = [name for name, _ in exercises]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{', '.join(sorted(twice))} stands here twice")
    return exercises


def _with_words(lines, texts):
    found = []
    for headline, changes in _cases(lines, texts):
        match = HEADLINE.fullmatch(headline)
        if not match:
            raise ValueError(f"{headline!r}: a colon must follow what is wrong, and then the words")
        found.append((match[1], match[2] or "", changes))
    return found


def _cases(lines, texts):
    return [(headline, _changes(headline, below, texts)) for headline, below in _parts(lines)]


def _parts(lines):
    """[(a line that begins at the margin, the lines below it without four blanks)]"""
    parts = []
    for line in lines:
        if line and not line.startswith(" "):
            parts.append((line, []))
        elif not parts:
            raise ValueError(f"{line!r} has no headline above it")
        elif line and not line.startswith("    "):
            raise ValueError(f"{line!r}: four blanks further in than its headline")
        else:
            parts[-1][1].append(line[4:])
    return parts


def _changes(headline, lines, texts):
    """The changes that stand below a headline."""
    text, at, changes = "".join(line + "\n" for line in lines), 0, []
    while text[at:].strip("\n"):
        if text[at] == "\n":
            at += 1
            continue
        match = CHANGE.match(text, at)
        if not match:
            line = text[at:].splitlines()[0]
            raise ValueError(
                f"{line!r} of {headline!r} is no change: write `old -> new`, or lines with - and then +"
            )
        at = match.end()
        old, new, old_words, new_words = match.groups("")
        if old_words:
            changes.append((_filled(old_words, texts), _filled(new_words, texts)))
        else:
            changes.append((_side(old, headline, texts), _side(new, headline, texts)))
    if not changes or not all(old for old, _ in changes):
        raise ValueError(f"{headline!r} names no text that is replaced")
    return changes


def _side(lines, headline, texts):
    """What the lines with - say, or those with +."""
    side = ""
    for line in lines.splitlines():
        if side and not side.endswith("\n"):
            raise ValueError(f"{headline!r}: only the last line may end in …")
        line = _filled(line[2:], texts)
        side += line.removesuffix("…") if line.endswith(("…", "\n")) else line + "\n"
    return side


def _filled(text, texts):
    try:
        return Template(text).substitute(texts)
    except KeyError as missing:
        raise ValueError(f"{text!r}: no text is called {missing.args[0]}") from None
