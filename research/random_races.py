"""Random parallel programs in PTX, the simulator beside the reference: `python -m research.random_races FIRST END`."""

import sys

from tests.ptxsim.races.happens_before import Reference
from tests.ptxsim.races.random_programs import run
from tests.ptxsim.races.test_random_races import disagreement, program_of


def main(first: int, end: int) -> None:
    kinds: dict[str, int] = {}
    racy = wrong = 0
    for seed in range(first, end):
        program = program_of(seed)
        racy += bool(Reference(program).races)
        for s in program.statements:
            kinds[s.kind] = kinds.get(s.kind, 0) + 1
        if found := disagreement(program, run(program)):
            wrong += 1
            print(seed, found, flush=True)
    print(f"{end - first} programs, {racy} of them with a race; {wrong} disagreements; statements: {kinds}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
