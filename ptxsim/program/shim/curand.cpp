// cuRAND's functions of the host. The numbers are good ones, and the same in each run, but not those of cuRAND.

#include <curand.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "talk.h"

struct curandGenerator_st {
    std::mt19937_64 numbers;
    uint64_t seed;
    bool of_host, pseudo;
    cudaStream_t stream;
};

namespace {

const char NOTE[] =
    "the program draws random numbers by cuRAND: here they are those of another generator, with the same distribution";

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool of_host) {
    ask("note", {}, NOTE, sizeof NOTE - 1);
    *generator = new curandGenerator_st{std::mt19937_64(0), 0, of_host, type < CURAND_RNG_QUASI_DEFAULT, nullptr};
    return CURAND_STATUS_SUCCESS;
}

void begin_at(curandGenerator_t generator, uint64_t seed, uint64_t offset) {
    generator->seed = seed;
    generator->numbers.seed(seed);
    generator->numbers.discard(offset);
}

// In (0, 1], as cuRAND's are.
template <class T>
T uniform(std::mt19937_64& numbers) {
    const int bits = sizeof(T) == 4 ? 24 : 53;
    return std::ldexp(T(numbers() >> (64 - bits)) + 1, -bits);
}

template <class T>
T normal(std::mt19937_64& numbers, T mean, T deviation) {
    double radius = std::sqrt(-2 * std::log(uniform<double>(numbers)));
    return T(mean + deviation * radius * std::cos(2 * M_PI * uniform<double>(numbers)));
}

template <class T, class Draw>
curandStatus_t fill(curandGenerator_t generator, T* to, size_t count, Draw draw) {
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    if (!generator->pseudo) return CURAND_STATUS_TYPE_ERROR;
    std::vector<T> made(count);
    for (T& each : made) each = draw(generator->numbers);
    if (generator->of_host) {
        memcpy(to, made.data(), count * sizeof(T));
        return CURAND_STATUS_SUCCESS;
    }
    cudaError_t error = cudaMemcpyAsync(to, made.data(), count * sizeof(T), cudaMemcpyHostToDevice, generator->stream);
    return error ? CURAND_STATUS_LAUNCH_FAILURE : CURAND_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
    return create(generator, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
    return create(generator, type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    delete generator;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
    begin_at(generator, seed, 0);
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    begin_at(generator, generator->seed, offset);
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) { return CURAND_STATUS_SUCCESS; }

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* to, size_t count) {
    return fill(generator, to, count, [](std::mt19937_64& numbers) { return unsigned(numbers() >> 32); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* to, size_t count) {
    return fill(generator, to, count, uniform<float>);
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* to, size_t count) {
    return fill(generator, to, count, uniform<double>);
}

#define NORMAL(call, T, of)                                                                                        \
    curandStatus_t curandGenerate##call(curandGenerator_t generator, T* to, size_t count, T mean, T deviation) {   \
        return fill(generator, to, count, [=](std::mt19937_64& numbers) { return T(of(normal(numbers, mean, deviation))); }); \
    }
NORMAL(Normal, float, )
NORMAL(NormalDouble, double, )
NORMAL(LogNormal, float, std::exp)
NORMAL(LogNormalDouble, double, std::exp)
#undef NORMAL

}  // extern "C"
