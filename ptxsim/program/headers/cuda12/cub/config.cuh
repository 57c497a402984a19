// Functions as objects, and macros, that CUB had until CUDA 13.
#pragma once
#include_next <cub/config.cuh>

#define CUB_MAX(a, b) (((a) > (b)) ? (a) : (b))
#define CUB_MIN(a, b) (((a) < (b)) ? (a) : (b))
#define CUB_QUOTIENT_FLOOR(x, y) ((x) / (y))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y)-1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))
#define CUB_ROUND_DOWN_NEAREST(x, y) (((x) / (y)) * (y))

CUB_NAMESPACE_BEGIN
#define PTXSIM_FUNCTION(name, result)                               \
    struct name {                                                   \
        template <class A, class B>                                 \
        __host__ __device__ auto operator()(A&& a, B&& b) const {   \
            return result;                                          \
        }                                                           \
    };
PTXSIM_FUNCTION(Equality, a == b)
PTXSIM_FUNCTION(Inequality, a != b)
PTXSIM_FUNCTION(Sum, a + b)
PTXSIM_FUNCTION(Difference, a - b)
PTXSIM_FUNCTION(Division, a / b)
PTXSIM_FUNCTION(Max, CUB_MAX(a, b))
PTXSIM_FUNCTION(Min, CUB_MIN(a, b))
#undef PTXSIM_FUNCTION
CUB_NAMESPACE_END
