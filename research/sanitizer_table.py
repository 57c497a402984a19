"""A table of compute-sanitizer beside the simulator, of tests/golden/sanitizer_h100.json.

`python -m research.sanitizer_table`
"""

from collections import Counter

from tests.kernels.case import WrongCase
from tests.ptxsim.races.test_sanitizer import TABLE, case_of, simulated


def summary() -> str:
    """A table: mutants by rule, known-wrong kernels by kind, and how many of them each judge found."""
    judged: dict[str, Counter] = {}
    for row in TABLE:
        case = case_of(row)
        kind = f"known wrong: {case.kind}" if isinstance(case, WrongCase) else row["mutant"].split(":")[0]
        count = judged.setdefault(kind, Counter())
        ours = simulated(row)
        count["kernels"] += 1
        count["racecheck"] += bool(row["racecheck"] or row["hazards"])
        count["memcheck"] += bool(row["memcheck"])
        count["synccheck"] += bool(row["synccheck"])
        count["initcheck"] += bool(row["initcheck"])
        count["simulator"] += bool(ours.hazards)
        count["wrong in the simulator"] += not ours.right
    columns = [
        "kernels",
        "racecheck",
        "memcheck",
        "synccheck",
        "initcheck",
        "simulator",
        "wrong in the simulator",
    ]
    rows = [
        ["what", *columns],
        ["---"] * (1 + len(columns)),
        *([what, *(str(count[column]) for column in columns)] for what, count in judged.items()),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(summary())
