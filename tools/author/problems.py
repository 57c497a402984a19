"""So many random problems for `matmul`, and all tiles with all numbers of slots: `make bench` tries 200.

Ends with what is wrong at the first that fails.
"""

import sys

from tests.matmul.test_matmul import OTHER_RINGS, check, check_ring, random_problem, wrong_with


def main(count: int) -> None:
    for number in range(1, count + 1):
        problem = random_problem(999 + number)
        print(f"{number}/{count}", problem, wrong_with(problem) or "right", flush=True)
        check(problem)
    for plan in OTHER_RINGS:
        print(plan, flush=True)
        check_ring(plan)


if __name__ == "__main__":
    main(int(sys.argv[1]))
