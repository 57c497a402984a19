"""How long a launch would take: a model, never a measurement.

clock    what the model says of a launch, and what a kernel reads that asks for the time
block    one block's events, played against the rates of a GPU
engines  what works beside its warps: mbarriers, the copy engine, wgmma
played   what a play leaves behind
"""

from .block import Block
from .played import ALONE, Segment

__all__ = ["ALONE", "Block", "Segment"]
