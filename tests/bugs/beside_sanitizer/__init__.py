"""Bugs that people really had, each reduced to a small kernel of ours: one file, with FIXED and without.

The first comment of a file says where the bug was reported and mended. The kernels were written after the reports; no
code of these projects is in them. `pairs.py` has how each is launched, what is right, and which kinds of finding name
the fault at which lines (//@marks in the file). `record.py` runs them on a GPU, alone and under compute-sanitizer.
"""
