"""Races in tensor memory, in words."""

from ..ptx.program import Instruction
from .advice import Why
from .sentences import mend

DOES = {
    "tcgen05.ld": "reads",
    "tcgen05.st": "writes",
    "tcgen05.dealloc": "frees",
    "tcgen05.mma": "starts a product on",
    "tcgen05.cp": "starts a copy to",
}
STARTED = {"tcgen05.mma": "the product", "tcgen05.cp": "the copy", "tcgen05.st": "the tcgen05.st"}


def flying(mine: Instruction, theirs: Instruction, them: str, line: str, place: str) -> Why:
    """Somebody comes before what works there is known to be done."""
    root = theirs.opcode.root
    text = (
        f"{DOES[mine.opcode.root]} {place} before {STARTED[root]} into it is known to be done; {them} started it at "
        f"{line}. {mend('wait-for-tensor-store' if root == 'tcgen05.st' else 'wait-for-product')}"
    )
    return Why("tensor-store-not-awaited" if root == "tcgen05.st" else "product-not-awaited", text)


def conflict(mine: Instruction, theirs: Instruction, them: str, line: str, place: str) -> Why:
    """Two accesses that nothing orders."""
    did = {"tcgen05.ld": "reads", "tcgen05.dealloc": "freed"}.get(theirs.opcode.root, "wrote")
    wait = {"tcgen05.ld": "tcgen05.wait::ld", "tcgen05.st": "tcgen05.wait::st"}.get(theirs.opcode.root)
    text = (
        f"{DOES[mine.opcode.root]} {place}, which {them} {did} at {line}, and nothing orders the two. "
        f"{mend('order-in-tensor-memory', wait=wait) if wait else mend('wait-for-product')}"
    )
    return Why("no-order-in-tensor-memory", text)
