// CUDA's own asks for its neighbours by their place; these come first.
#pragma once
#include <cuda_runtime_api.h>
#include_next <cuda_runtime.h>
