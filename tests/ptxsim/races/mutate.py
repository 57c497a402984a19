"""Kernels with one small mistake each, made from right ones by changing the text of one place.

    for mutant in mutants(source): ...

The mistakes are those that people make in pipelined kernels: a barrier, copy, commit or wait that is missing, a wait
count or an index that is one off, the wrong one of two buffers, a missing bounds check. A pad or swizzle that is
missing is no mistake in the result: it only costs time.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`name` is the rule and the line that it changed, for example "drop barrier: __syncthreads();"; a number
    follows when there are several. `line`: its number, from 1."""

    name: str
    rule: str
    line: int
    source: str


BARRIER = (
    r"__sync(?:threads|warp)(?:_count|_and|_or)?\(\)"
    r"|\b(?:bar(?:rier)?|named)_?(?:sync|arrive)\w*\s*(?:<[^<>;]*>)?\([^;]*\)"
)
COMMIT = r"\b(?:cp_async_|__pipeline_)?commit(?:_group)?\(\)"
WAIT = r"\b(?:cp_async_|__pipeline_)?wait\w*\s*(?:<[^;]*>)?\([^;{}]*\)"
INSIDE = r"[^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*"  # of balanced parentheses
ASM = r'asm volatile\(\s*"(?:cp\.async\.(?:{what})|{what})[^"]*"[^;]*\)(?=;)'

RULES = {
    "drop copy": [(r"\b(?:copy_async(?:<\w+>)?|copy_rows<[\w, ]+>|copy_if)\([^;{}]*\)(?=;)", "")],
    "drop barrier": [
        (rf"(?<!, )(?:{BARRIER})(?=;)", ""),
        (rf"(?<=\), )(?:{BARRIER})(?=;)", "0"),
        (ASM.format(what=r"bar(?:rier)?\.(?:sync|arrive|warp)"), ""),
    ],
    "drop commit": [
        (rf"{COMMIT}(?=;)", ""),
        (ASM.format(what="commit_group"), ""),
        (r"cp\.async\.commit_group;(?=\\n)", ""),
    ],
    "drop wait": [
        (rf"{WAIT}(?=;)", ""),
        (r"\bwait_group<[^;<>]*>\(\)(?=, )", "0"),
        (ASM.format(what="wait_(?:group|all)"), ""),
        (r'(?<=\\n )cp\.async\.wait_(?:group \d+|all);', ""),
    ],
    "wait for one less": [
        (r"(\bwait\w*)<([^;]+)>\(\)", r"\1<(\2) + 1>()"),
        (r"(_wait_prior|wait_group)\((\w+)\)", r"\1(\2 + 1)"),
        (r"(cp\.async\.wait_group) 0;", r"\1 1;"),
    ],
    "wait for one more": [
        (r"(\bwait\w*)<(?!STAGES - 3)([^;]*[^;0])>\(\)", r"\1<(\2) - 1>()"),  # STAGES - 3 is 0 where it stands
        (r"(_wait_prior|wait_group)\((?!0\b)(\w+)\)", r"\1(\2 - 1)"),
    ],
    "other stage": [
        (r"\b(\w+) % (S|STAGES|SLOTS|2)\b(?=\]|,|;| \*)", r"(\1 + 1) % \2"),
        (r"\((\w+ \+ \w+)\) % STAGES\b", r"(\1 + 1) % STAGES"),
        (r"\b(FULL|EMPTY) \+ slot\b(?=\))", r"\1 + 1 - slot"),
        (r"\b1 - (\w+)\b(?=[,;\]])", r"\1"),
        (r"(\w+) \^= 1;", ";"),
        (r"\bslot == 0 \? STAGES - 1 : slot - 1|\bslot \+ 1 == STAGES \? 0 : slot \+ 1", "slot"),
        (r"\bslot\b(?= \* SLOT)|(?<=s\[)slot(?=[],])", "(slot + 1) % STAGES"),
        (r"(\b(?:issue|load)\((?:k_)?tile \+) (S|STAGES) - 1", r"\1 \2"),
    ],
    "other buffer": [
        (r"\[now\]", "[next]"),
        (r"\[next\]", "[now]"),
        (r"(, | = )read(?=\)?;|\);)", r"\1write"),
        (r"(, )write(?=\);)", r"\1read"),
    ],
    "drop bounds check": [
        (rf"\bif \((?=[^;\n]*(?:<|>=))({INSIDE})\) return\b", "if (false) return"),
        (rf"\bif \((?!\w+ == \w+\) wait)(?=[^;{{\n]*?(?:<|>=))({INSIDE})\)(?! return)", "if (true)"),
        (r"(?<== )[^=;?(]*<[^;?]*(?= \? )", "true"),
        (r"(?<=, )[\w +/%]+ < k_tiles(?=\))", "true"),
        (r"\bmin\((\w+ \+ 1), [^;()]*\)", r"\1"),
    ],
    "drop swizzle": [(r"(?<=[\w)]) \^ (?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\w+(?: [/%] \w+)*)(?=[\]),;*: ])", "")],
    "drop pad": [(r"(?<=\w) \+ (?:1|PAD)(?=\](?:\[\w+\])*[,;])", ""), (r"\b(\w+) = (\d+) \+ PAD\b", r"\1 = \2")],
}  # fmt: skip
"""Rule -> (pattern, replacement), tried at every place of the source without comments."""

LOCAL_ARRAY = re.compile(
    r"^[ \t]*(?:alignas\(\d+\) )?(?:const )?(?:float|double|int|unsigned|uint32_t|__half|bool)\d? (?!.*__shared__)"
    r"(\*?\w+\[.*)$",
    re.M,
)


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a kernel, rule after rule, from the first line to the last."""
    code = without_comments(source)
    return named(source, [*_by_pattern(code), *_shifted(code)])


def named(source: str, changes: Iterable[tuple[str, int, int, str]]) -> Iterator[Mutant]:
    """A mutant for each change: rule, start and end in the source, new text."""
    lines = without_comments(source).splitlines()
    seen: Counter[str] = Counter()
    for rule, start, end, text in changes:
        line = source.count("\n", 0, start) + 1
        name = f"{rule}: {' '.join(lines[line - 1].split())}"
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} #{seen[name]}"
        # What stood in several lines leaves them, so that all below keep their numbers.
        ends = "\n" * (source.count("\n", start, end) - text.count("\n"))
        yield Mutant(name, rule, line, source[:start] + text + ends + source[end:])


def fingerprint(source: str, options: tuple[str, ...]) -> str:
    """A short hash of a mutant, without paths and without the state of the course's headers."""
    plain = [option for option in options if not option.startswith(("-I", "-DCOURSE_HEADERS"))]
    return hashlib.sha256(repr((source, plain)).encode()).hexdigest()[:12]


def without_comments(source: str) -> str:
    """The same text with blanks in place of comments, so that positions stay."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.DOTALL)


def _by_pattern(code: str) -> Iterator[tuple[str, int, int, str]]:
    for rule, changes in RULES.items():
        places = [
            (match.start(), match.end(), match.expand(replacement))
            for pattern, replacement in changes
            for match in re.finditer(pattern, code)
            if _fits(rule, line_at(code, match.start())) and ("STAGES" in code or "STAGES" not in replacement)
        ]
        yield from ((rule, *place) for place in sorted(set(places)))


def _fits(rule: str, line: str) -> bool:
    if re.match(r"\s*(?:#|static_assert)", line):
        return False
    return rule != "drop pad" or "__shared__" in line or "PAD" in line


def line_at(code: str, position: int) -> str:
    """The line of `code` that `position` is in."""
    end = code.find("\n", position)
    return code[code.rfind("\n", 0, position) + 1 : end if end >= 0 else len(code)]


def _shifted(code: str) -> Iterator[tuple[str, int, int, str]]:
    """Each index of a shared array or of a pointer, one further; also one that stands in an offset: p + i * 16."""
    local = {name for line in LOCAL_ARRAY.findall(code) for name in re.findall(r"(\w+)\[", line)}
    for match in re.finditer(r"\b(\w+)((?:\[[^][\n]*(?:\[[^][\n]*\][^][\n]*)*\])+)", code):
        line = line_at(code, match.start())
        if (
            match[1] in local
            or re.match(r'\s*: "[=+]', line)  # outputs of inline PTX are registers
            or "__shared__" in line
            or re.search(r"\b(?:const )?\w+ \(?&", line[: line.find("[")])
        ):
            continue
        for index in _subscripts(match[2]):
            start = match.start(2) + index[0]
            yield "shift index", start, start + len(index[1]), f"({index[1]}) + 1"
    for match in re.finditer(r"(?<=\+ )(\w+)(?= \* \w)", code):
        before = code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
        if before.count("[") == before.count("]"):
            yield "shift index", match.start(), match.end(), f"({match[1]} + 1)"


def _subscripts(text: str) -> Iterator[tuple[int, str]]:
    """(position, expression) of each outermost [...]."""
    depth = start = 0
    for at, character in enumerate(text):
        if character == "[":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif character == "]":
            depth -= 1
            if depth == 0:
                yield start, text[start:at]
