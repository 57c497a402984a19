"""The notebooks.

sources      kernels and their launches, read out of the notebooks, which are their only home
folders      where notebooks and assets lie: beside the package, or inside an installed one
environment  what this machine offers, and what works without the rest
colab        what a notebook's first cell does on Colab
"""
