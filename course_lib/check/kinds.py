"""The kinds of problems, by what stands in a file of them."""

from collections.abc import Mapping

from .attention import LAYOUT, Attention
from .gemm import Gemm
from .problem import Problem
from .product import Product

KINDS: dict[str, type[Problem]] = {kind.__name__: kind for kind in (Product, Gemm, Attention)}
"""By the names of their classes."""


def of_record(entry: Mapping) -> Problem:
    """The problem of an entry in a file of measurements."""
    first, second, third = entry["shape"]
    if entry["layout"].startswith(LAYOUT):
        return Attention(first, second, third, **entry.get("form", {}))
    return Gemm(first, second, third, entry["dtype"])
