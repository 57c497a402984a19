// Its name since CUDA 13.
#pragma once
#include <nvtx3/nvToolsExt.h>
