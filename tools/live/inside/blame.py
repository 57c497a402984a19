"""The reports with a hazard that came up while a cell ran: their pages, and the lines they blame."""

import contextlib
from collections.abc import Iterator, Sequence

import ptxsim
from course_lib.exercises import verdicts

MOST = 3
"""Reports of one cell; a check that goes on after a finding would repeat it."""


@contextlib.contextmanager
def noted() -> Iterator[list[ptxsim.Report]]:
    """Every report meanwhile; of a check of an exercise only the one that its verdict names. All launches of the course
    go through `ptxsim.launch`, whoever asks for them, and all verdicts through `judged`."""
    found: list[ptxsim.Report] = []
    unwatched, unheard = ptxsim.launch, verdicts.judged

    def watched(*args, **options):
        report = unwatched(*args, **options)
        found.append(report)
        return report

    def heard(*asked):
        begin = len(found)
        verdict, words = unheard(*asked)
        found[begin:] = named(found[begin:], verdict.hazards)
        return verdict, words

    ptxsim.launch, verdicts.judged = watched, heard
    try:
        yield found
    finally:
        ptxsim.launch, verdicts.judged = unwatched, unheard


def named(reports: list[ptxsim.Report], hazards: Sequence[ptxsim.Hazard]) -> list[ptxsim.Report]:
    """The last report that has the first of these hazards: a check ends with what it found."""
    return [report for report in reports if hazards and hazards[0] in report.hazards][-1:]


def bad(reports: list[ptxsim.Report]) -> list[ptxsim.Report]:
    """Those with a hazard, each finding once."""
    once = {str(report): report for report in reports if not report.ok}
    return list(once.values())[:MOST]


def lines(reports: list[ptxsim.Report]) -> list[dict]:
    """Each line that is blamed: kernel, number, text, and the kinds of its hazards."""
    found: dict[tuple[str, int, str], dict[str, None]] = {}
    for report in reports:
        source = report.kernel.source.splitlines()
        for hazard in report.hazards:
            for number in dict.fromkeys((hazard.call_line or hazard.line, hazard.line)):
                if number and number <= len(source):
                    key = report.kernel.name, number, source[number - 1]
                    found.setdefault(key, {})[hazard.kind] = None
    return [
        {"kernel": kernel, "line": number, "text": text, "kinds": list(kinds)}
        for (kernel, number, text), kinds in found.items()
    ]
