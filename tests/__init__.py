"""The tests. (A folder of them with a conftest.py of its own is a package, and so is this: its name is its own.)"""
