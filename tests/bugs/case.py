"""What the cases of this folder share."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PLAIN = ("--std=c++17", "-arch=sm_80")
HOPPER = ("--std=c++17", "-arch=sm_90a")
FORM = re.compile("«(.*?)¦(.*?)»", re.S)


@dataclass
class Case:
    """A kernel in two forms. Where they differ the source has «faulty¦mended»; //@a marks lines that a finding may name."""

    name: str
    report: str
    """repository#number, or a page's title"""
    source: str
    args: Callable[[bool], tuple]
    """Of the form: True is the mended one."""
    want: Callable[[tuple], list]
    """(arguments before the launch) -> [(index, array), ...]"""
    kinds: tuple = ()
    """Kinds or causes, one of which the faulty form must get; (): none is asked for, its numbers are wrong."""
    lines: str = ""
    """The marks of lines that may be named; "": any."""
    grid: int | tuple = 1
    block: int | tuple = 32
    options: tuple = PLAIN
    shared: int = 0
    chance: bool = False
    """Whether the fault shows depends on the order of warps or blocks."""
    only_mended: bool = False
    """There is no faulty form: is there a false alarm?"""
    why: str = ""
    """Which text says so."""
    words: tuple = ()
    """One of these stands in a message at the place ..."""
    unwanted: tuple = ()
    """... and none of these in any: advice that is wrong there."""
    cooperative: bool = False
    note: tuple = ()
    """In place of a finding: one of these words in a note of the report."""
    allowed_mended: tuple = ()
    """Kinds that the mended form may have all the same."""

    def form(self, mended: bool) -> str:
        return FORM.sub(lambda form: form[1 + mended], self.source)

    def marked(self, mended: bool) -> dict[str, set[int]]:
        """{mark: its lines}"""
        found: dict[str, set[int]] = {}
        for number, line in enumerate(self.form(mended).splitlines(), 1):
            for mark in re.findall(r"//@(\w+)", line):
                found.setdefault(mark, set()).add(number)
        return found


def told_by(text: str, words: tuple) -> str:
    """Of a text that must have one of these words."""
    return "found" if any(word in text for word in words) else "found, words lack"


def ints(shape, seed=0, dtype="f4", low=-4, high=5):
    """Small whole numbers, so that every order of a sum gives the same."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def nans(shape, dtype="f4"):
    """What nobody has written yet: NaN, or 77 where there is none."""
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 77, dtype)


BULK = r"""
typedef unsigned long long u64;
__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(n) : "memory")
#define LOAD(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(at(to)), "l"(from), "r"(n), "r"(at(b)) : "memory")
#define STORE(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(at(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(n) : "memory")
#define WAIT_ALL(n) asm volatile("cp.async.bulk.wait_group %0;" :: "n"(n) : "memory")
#define PROXY() asm volatile("fence.proxy.async;" ::: "memory")
#define CLUSTER() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
__device__ __forceinline__ void wait(u64* b, unsigned parity) {
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra W; D: }" :: "r"(at(b)), "r"(parity) : "memory");
}
__device__ __forceinline__ unsigned rank() { unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ unsigned peer(const void* p, unsigned r) { unsigned o; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(o) : "r"(at(p)), "r"(r)); return o; }
#define ARRIVE_AT(b, r) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(peer(b, r)) : "memory")
"""
