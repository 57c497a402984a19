// CUB whole, with the iterators that it had until CUDA 13.
#pragma once
#include_next <cub/cub.cuh>

#include <cub/iterator/constant_input_iterator.cuh>
#include <cub/iterator/counting_input_iterator.cuh>
#include <cub/iterator/discard_output_iterator.cuh>
#include <cub/iterator/transform_input_iterator.cuh>
