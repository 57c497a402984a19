// Thrust's, as since CUDA 13.
#pragma once
#include <cub/config.cuh>
#include <thrust/iterator/counting_iterator.h>

CUB_NAMESPACE_BEGIN
template <class Value, class Offset = ptrdiff_t>
using CountingInputIterator = THRUST_NS_QUALIFIER::counting_iterator<Value, THRUST_NS_QUALIFIER::use_default, THRUST_NS_QUALIFIER::use_default, Offset>;
CUB_NAMESPACE_END
