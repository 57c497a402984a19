// Thrust's, as since CUDA 13.
#pragma once
#include <cub/config.cuh>
#include <thrust/iterator/transform_iterator.h>

CUB_NAMESPACE_BEGIN
template <class Value, class Function, class Input, class Offset = ptrdiff_t>
using TransformInputIterator = THRUST_NS_QUALIFIER::transform_iterator<Function, Input, Value>;
CUB_NAMESPACE_END
