"""The Python packages of this repository, from the bottom up: what an installed course consists of."""

PACKAGES = (
    "ptxsim",
    "cupy_or_sim",
    "matmul",
    "compile_service",
    "course_lib",
    "instruments",
    "hiding_latency",
)
