"""How long launches take in which each block waits for the one before: `python -m research.waiting_blocks`."""

import time

from tests.ptxsim.races.test_news import one_after_the_other

if __name__ == "__main__":
    for number in (100, 250, 500, 1000, 2000):
        begin = time.thread_time()
        assert one_after_the_other(number)[0].ok
        print(f"{number} blocks, each waits for the one before: {time.thread_time() - begin:.1f} s")
