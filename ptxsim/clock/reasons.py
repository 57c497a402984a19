"""What a warp spends its cycles on."""

REASONS = (
    "issues",
    "fixed time",
    "branch",
    "shared memory",
    "global memory",
    "copies",
    "other result",
    "barrier",
    "pipe busy",
    "register banks",
    "memory queue full",
    "another warp first",
)
"""It issues, or waits for this. An IMAD.WIDE that keeps the issue: register banks."""
(
    ISSUES,
    FOR_TIME,
    FOR_BRANCH,
    FOR_SHARED,
    FOR_GLOBAL,
    FOR_COPIES,
    FOR_RESULT,
    FOR_BARRIER,
    FOR_PIPE,
    FOR_BANKS,
    FOR_QUEUE,
    FOR_TURN,
) = range(len(REASONS))
