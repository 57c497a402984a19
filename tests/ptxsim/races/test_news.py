"""What a thread was told of others by way of others: the same as by looking at every way, and soon found."""

import time

import numpy as np
import pytest

from ptxsim.races.messages import CLUSTER, NOTHING, Chain, News, Released, joined
from tests.ptxsim.small_kernels import run

BLOCKS, THREADS = 3, 4


def on_any_way(news, block, threads, times):
    """The definition: by its own rows, or by those of any release that it knows, or by what came with one."""
    known = news.rows[block][threads] > times if block in news.rows else np.zeros(len(threads), bool)
    for chain, length in news.chains.items():
        rows = [row for number, row in chain.of_block.get(block, ()) if number < length]
        known |= (rows[-1][threads] > times) if rows else False
        known |= on_any_way(chain.news[length], block, threads, times)
    return known


def random_news(random, releases):
    """What nine threads know that release and acquire at a few places, some of which are written anew."""
    chains, known = [Chain() for _ in range(4)], [NOTHING] * 9
    for now in range(1, releases):
        me, place = random.integers(9), random.integers(len(chains))
        row = random.integers(0, now + 1, THREADS).astype(np.int32)
        released = Released(me % BLOCKS, row, known[me])
        if random.random() < 0.1:
            chains[place] = Chain()
        if random.random() < 0.6:
            chains[place].add(released)
        elif random.random() < 0.3:
            chains[place].near.setdefault((CLUSTER, 0), []).append(released)
        else:
            groups = [(CLUSTER, 0)] if random.random() < 0.5 else []
            known[me] = joined([known[me], chains[place].told(groups)])
    return known


@pytest.mark.parametrize("seed", range(60))
def test_what_is_known_is_what_came_on_any_way(seed):
    random = np.random.default_rng(seed)
    for news in random_news(random, releases=60):
        blocks = random.integers(0, BLOCKS + 1, 40)
        threads, times = random.integers(0, THREADS, 40), random.integers(0, 60, 40)
        expected = np.zeros(40, bool)
        for block in range(BLOCKS):
            mine = blocks == block
            expected[mine] = on_any_way(news, block, threads[mine], times[mine])
        assert np.array_equal(news.has(blocks, threads, times), expected)


def asks(news, block=0):
    return bool(news.has(np.array([block]), np.array([0]), np.array([0]))[0])


def test_a_long_way():
    """Each of many blocks was told by the one before."""
    news = News({0: np.ones(1, np.int32)})
    for block in range(1, 20_000):
        chain = Chain()
        chain.add(Released(block, np.ones(1, np.int32), news))
        news = chain.told([])
    assert asks(news) and not asks(news, block=20_000)


def test_many_ways():
    """Each release knows two, and each of those two: a thousand releases have 2 ** 1000 ways."""
    one = two = News({0: np.ones(1, np.int32)})
    for block in range(1, 1000):
        first, second = Chain(), Chain()
        for chain in (first, second):
            chain.add(Released(block, np.ones(1, np.int32), joined([one, two])))
        one, two = first.told([]), second.told([])
    assert asks(joined([one, two])) and not asks(joined([one, two]), block=1000)


# ---- launches

PLACES = """
out[64 + blockIdx.x * 32 + t] = t;
#pragma unroll 1
for (int i = 0; i < 16; ++i) {
    unsigned old, place = t * (i + 1) % 16;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(out + place) : "memory");
}
out[128 + blockIdx.x * 32 + t] = out[64 + (1 - blockIdx.x) * 32 + t];
"""


def test_releases_at_many_places():
    """Over a minute, when every way was gone."""
    start = time.thread_time()
    report = run(PLACES, np.zeros(256, np.int32), parameters="int* out", grid=2)
    assert report.ok and time.thread_time() - start < 10


ONE_AFTER_THE_OTHER = """
int block = blockIdx.x, seen = block == 0;
if (t == 0) while (!seen)
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag + block - 1) : "memory");
__syncthreads();
if (t == 0 && block > 0) sums[block] = sums[block - 1] + {more};
__syncthreads();
if (t == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag + block) : "memory");
"""


def one_after_the_other(blocks, more="1"):
    flags, sums = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
    body = ONE_AFTER_THE_OTHER.replace("{more}", more)
    report = run(body, flags, sums, parameters="int* flag, int* sums", grid=blocks)
    return report, sums


@pytest.mark.parametrize("more", ["1", "sums[0] + 1"])
def test_blocks_that_wait_for_the_one_before(more):
    report, sums = one_after_the_other(150, more)
    assert report.ok, report
    assert np.array_equal(sums, np.arange(150))
    # Those that wait let the one go first that they wait for: they look a few times for each block, not hundreds.
    assert report.counters.total.instructions < 10 * 150**2
