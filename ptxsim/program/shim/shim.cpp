// The CUDA runtime library of a program that runs in the simulator: built by compile.py as libcudart.so.

#include "devices.cpp"
#include "driver.cpp"
#include "errors.cpp"
#include "graphs.cpp"
#include "launches.cpp"
#include "memory.cpp"
#include "streams.cpp"
#include "talk.cpp"
#include "textures.cpp"

#include "driver_api.cpp"
#include "per_thread.cpp"

#include "curand.cpp"
#include "nccl.cpp"
#include "nvml.cpp"

#include "cublas.cpp"  // last: its header brings overloads of the runtime's functions along
