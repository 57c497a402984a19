// Thrust's, as since CUDA 13.
#pragma once
#include <cub/config.cuh>
#include <thrust/iterator/constant_iterator.h>

CUB_NAMESPACE_BEGIN
template <class Value, class Offset = ptrdiff_t>
using ConstantInputIterator = THRUST_NS_QUALIFIER::constant_iterator<Value, Offset>;
CUB_NAMESPACE_END
