"""Lesson 07's kernels with one small mistake each, as tests/ptxsim/races/mutate.py has them for the lessons before."""

import re
from collections.abc import Iterator

from tests.ptxsim.races.mutate import Mutant, named, without_comments

RULES = {
    "drop wait for a phase": (r"mbarrier_wait\([^;]*\);", ";"),
    "other parity": (r"(?<=, )(?:turn|k_tile) % 2\)|(?<=, )\(turn \+ 1\) % 2\)", "PARITY"),
    "16 bytes more": (r"(mbarrier_expect\([^;]*)\);", r"\1 + 16);"),
    "16 bytes less": (r"(mbarrier_expect\([^;]*)\);", r"\1 - 16);"),
    "nothing expected": (r"mbarrier_expect(\([^;]*), [^;,]*\);", r"mbarrier_arrive\1);"),
    "one arrival more": (r"(mbarrier_init\([^;]*)\);", r"\1 + 1);"),
    "one arrival less": (r"(mbarrier_init\([^;]*)\);", r"\1 - 1);"),
    "drop arrival": (r"mbarrier_arrive(?:_at)?\([^;]*\);", ";"),
    "wait for one wgmma less": (r"wgmma_wait<(\d)>", r"wgmma_wait<\1 + 1>"),
    "drop wait for wgmma": (r"wgmma_wait<\d>\(\);", ";"),
    "drop wgmma fence": (r"wgmma_fence\(\);", ";"),
    "drop wgmma commit": (r"wgmma_commit\(\);", ";"),
    "other stride": (r"matrix_descriptor\(([^;()]*)\)", r"(matrix_descriptor(\1) + (4ull << 32))"),
    "other step": (r"\b([ab]) \+ 2 \* k", r"\1 + 4 * k"),
    "drop proxy fence": (r"fence_async\(\);", ";"),
    "drop barrier": (r"(?:__syncthreads|named_sync<\w+>)\([^;]*\);", ";"),
    "drop barrier of the cluster": (r"cluster_sync\(\);", ";"),
    "barrier of the block instead": (r"cluster_sync\(\);", "__syncthreads();"),
    "for the own block alone": (r"mbarrier_arrive_at\((.*), thread\);", r"mbarrier_arrive(\1);"),
    "drop wait for stores": (r"wait_stores(?:_read)?\(\);", ";"),
    "drop commit of stores": (r"commit_stores\(\);", ";"),
    "other slot": (r"\(count - 1\) % SLOTS", "count % SLOTS"),
}
"""Rule -> pattern and replacement, tried at every place of the kernel itself."""


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a kernel, rule after rule, from the first line to the last."""
    return named(source, _changes(without_comments(source)))


def _changes(code: str) -> Iterator[tuple[str, int, int, str]]:
    kernel = code.index("__global__")
    for rule, (pattern, replacement) in RULES.items():
        for match in re.finditer(pattern, code):
            if match.start() > kernel:
                text = _other_parity(match[0]) if replacement == "PARITY" else match.expand(replacement)
                yield rule, *match.span(), text


def _other_parity(text: str) -> str:
    return text.replace("(turn + 1)", "turn") if "+" in text else re.sub(r"(\w+) %", r"(\1 + 1) %", text)
