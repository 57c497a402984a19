"""The Python packages of this repository, from the bottom up: what an installed course consists of."""

PACKAGES = ("ptxsim", "cupy_or_sim", "course_lib", "compile_service")
