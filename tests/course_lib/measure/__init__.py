"""Tests of course_lib/measure. (A folder with a conftest.py of its own is a package: its name is its own, too.)"""
