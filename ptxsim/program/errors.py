"""The numbers of CUDA's errors (driver_types.h), and their names."""

from __future__ import annotations

INVALID_VALUE, MEMORY_ALLOCATION, INVALID_CONFIGURATION, INVALID_SYMBOL = 1, 2, 9, 13
NOT_FOUND, NOT_READY = 500, 600
LAUNCH_OUT_OF_RESOURCES, LAUNCH_TIMEOUT, ASSERT, ALREADY_REGISTERED, NOT_REGISTERED = 701, 702, 710, 712, 713
INVALID_PC, LAUNCH_FAILURE, COOPERATIVE_TOO_LARGE, NOT_SUPPORTED, INVALID_CLUSTER = 718, 719, 720, 801, 912

NAMES = {
    INVALID_VALUE: "cudaErrorInvalidValue",
    MEMORY_ALLOCATION: "cudaErrorMemoryAllocation",
    INVALID_CONFIGURATION: "cudaErrorInvalidConfiguration",
    INVALID_SYMBOL: "cudaErrorInvalidSymbol",
    NOT_FOUND: "cudaErrorSymbolNotFound",
    LAUNCH_OUT_OF_RESOURCES: "cudaErrorLaunchOutOfResources",
    LAUNCH_TIMEOUT: "cudaErrorLaunchTimeout",
    ASSERT: "cudaErrorAssert",
    ALREADY_REGISTERED: "cudaErrorHostMemoryAlreadyRegistered",
    NOT_REGISTERED: "cudaErrorHostMemoryNotRegistered",
    INVALID_PC: "cudaErrorInvalidPc",
    LAUNCH_FAILURE: "cudaErrorLaunchFailure",
    COOPERATIVE_TOO_LARGE: "cudaErrorCooperativeLaunchTooLarge",
    NOT_SUPPORTED: "cudaErrorNotSupported",
    INVALID_CLUSTER: "cudaErrorInvalidClusterSize",
}


def of_fatal(kind: str) -> int:
    """What CUDA answers to all calls after a kernel ended with a hazard of this kind. (A GPU waits for ever at a
    deadlock.)"""
    by_kind = {
        "assertion-failed": ASSERT,
        "deadlock": LAUNCH_TIMEOUT,
        "no-function": INVALID_PC,
        "step-limit": LAUNCH_TIMEOUT,
        "unsupported-instruction": NOT_SUPPORTED,
    }
    return by_kind.get(kind, LAUNCH_FAILURE)
