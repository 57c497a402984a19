"""What all rooms stand on.

memory        global, shared and local memory: bounds, alignment, the bytes
heap          memory that kernels ask for, by malloc and new
tensor_cells  tensor memory in numbers
texture       where a fetch looks, and what it makes of what it finds
asked         what a kernel asks of whoever runs it
work          how much a launch may do before it is stopped
tensor_map    what the copy engine knows of an array
numbers       types of numbers in C++ and in NumPy
foreign       files and texts of others, read and printed with care
whole         files that are written whole or not at all
interrupts    Ctrl-C, heard while a library works
"""
