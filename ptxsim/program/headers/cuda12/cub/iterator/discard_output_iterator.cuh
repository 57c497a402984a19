// Thrust's, as since CUDA 13.
#pragma once
#include <cub/config.cuh>
#include <thrust/iterator/discard_iterator.h>

CUB_NAMESPACE_BEGIN
template <class Offset = ptrdiff_t>
using DiscardOutputIterator = THRUST_NS_QUALIFIER::discard_iterator<>;
CUB_NAMESPACE_END
