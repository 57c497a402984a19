// The CUDA runtime library of a program that runs in the simulator: built by compile.py as libcudart.so.

#include "devices.cpp"
#include "errors.cpp"
#include "launches.cpp"
#include "memory.cpp"
#include "streams.cpp"
#include "talk.cpp"
