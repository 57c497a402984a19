"""How long it takes until an endless loop of each kind is ended: `python -m research.endless_loops`."""

import time

import numpy as np

from tests.ptxsim.ground.test_limits import ENDLESS
from tests.ptxsim.small_kernels import run

if __name__ == "__main__":
    for name, (parameters, how, body) in ENDLESS.items():
        start = time.thread_time()
        run(body, np.zeros(1100, np.int32), parameters=parameters, **how)
        print(f"{time.thread_time() - start:5.1f} s  {name}", flush=True)
