// What Thrust's functions as objects were until CUDA 13.
#pragma once
#include_next <thrust/functional.h>

#include <cuda/std/functional>

THRUST_NAMESPACE_BEGIN
template <class Argument, class Result>
struct unary_function {
    using argument_type = Argument;
    using result_type = Result;
};
template <class First, class Second, class Result>
struct binary_function {
    using first_argument_type = First;
    using second_argument_type = Second;
    using result_type = Result;
};
template <class T = void>
struct identity {
    using argument_type = T;
    using result_type = T;
    __host__ __device__ const T& operator()(const T& value) const { return value; }
};
template <>
struct identity<void> : ::cuda::std::__identity {};
THRUST_NAMESPACE_END
