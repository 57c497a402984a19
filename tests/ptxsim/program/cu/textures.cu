// Textures against the formulas of CUDA's programming guide, which the host evaluates.
#include <cmath>
#include <cstdio>
#include <vector>

const int W = 8, H = 6, D = 4, N = 512;

__global__ void fetch1(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex1Dfetch<float>(t, int(threadIdx.x) - 4); }
__global__ void read1(cudaTextureObject_t t, const float* at, float* out) { int i = threadIdx.x; out[i] = tex1D<float>(t, at[i]); }
__global__ void read2(cudaTextureObject_t t, const float* at, float* out)
{
    int i = threadIdx.x;
    out[i] = tex2D<float>(t, at[i], at[N - 1 - i]);
}
__global__ void read3(cudaTextureObject_t t, const float* at, float* out)
{
    int i = threadIdx.x;
    out[i] = tex3D<float>(t, at[i], at[N - 1 - i], at[(7 * i) % N]);
}
__global__ void layered(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex2DLayered<float>(t, threadIdx.x % W + .5f, 1.5f, threadIdx.x / W); }
__global__ void colours(cudaTextureObject_t t, float4* out) { out[threadIdx.x] = tex2D<float4>(t, threadIdx.x % W + .5f, threadIdx.x / W + .5f); }
__global__ void bytes(cudaTextureObject_t t, int* out) { out[threadIdx.x] = tex2D<uchar4>(t, threadIdx.x % W, threadIdx.x / W).z; }

// In each thread one texel of a face of a cube, from the middle of the cube.
__global__ void cube(cudaTextureObject_t t, float* out, int n, bool layers)
{
    int i = threadIdx.x, face = i / (n * n);
    float u = (i % n + .5f) / n * 2 - 1, v = (i / n % n + .5f) / n * 2 - 1;
    const float x[] = {1, -1, u, u, u, -u}, y[] = {-v, -v, 1, -1, -v, -v}, z[] = {-u, u, v, -v, 1, -1};
    float far = 3 + face;
    out[i] = layers ? texCubemapLayered<float>(t, far * x[face], far * y[face], far * z[face], 1)
                    : texCubemap<float>(t, far * x[face], far * y[face], far * z[face]);
}

float weight(float at) { return std::floor((at - std::floor(at)) * 256 + .5f) / 256; }
int placed(int i, int n, cudaTextureAddressMode mode, bool& inside)
{
    if (mode == cudaAddressModeBorder && (i < 0 || i >= n)) inside = false;
    if (mode == cudaAddressModeWrap) return (i % n + n) % n;
    if (mode == cudaAddressModeMirror) {
        i = (i % (2 * n) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    }
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}
// One axis after the other.
double sampled(const float* data, int dims, const int* sizes, const float* at, const cudaTextureDesc& how)
{
    if (!dims) return *data;
    int axis = dims - 1, n = sizes[axis], stride = 1;
    for (int i = 0; i < axis; ++i) stride *= sizes[i];
    float place = how.normalizedCoords ? at[axis] * n : at[axis];
    bool linear = how.filterMode == cudaFilterModeLinear;
    double sum = 0;
    for (int tap = 0; tap <= linear; ++tap) {
        int index = int(std::floor(linear ? place - .5f : place)) + tap;
        double part = linear ? (tap ? weight(place - .5f) : 1 - weight(place - .5f)) : 1;
        bool inside = true;
        int there = placed(index, n, how.addressMode[axis], inside);
        sum += part * (inside ? sampled(data + there * stride, axis, sizes, at, how) : how.borderColor[0]);
    }
    return sum;
}

cudaTextureObject_t texture(cudaArray_t array, const cudaTextureDesc& how)
{
    cudaResourceDesc of = {};
    of.resType = cudaResourceTypeArray;
    of.res.array.array = array;
    cudaTextureObject_t made = 0;
    cudaError_t error = cudaCreateTextureObject(&made, &of, &how, nullptr);
    if (error) printf("%s\n", cudaGetErrorString(error));
    return made;
}

int main()
{
    const int sizes[3] = {W, H, D};
    std::vector<float> data(W * H * D), at(N);
    for (int i = 0; i < W * H * D; ++i) data[i] = (i * 37) % 101;
    float *places, *out;
    cudaMallocManaged(&places, N * sizeof(float));
    cudaMallocManaged(&out, 4 * N * sizeof(float));
    auto format = cudaCreateChannelDesc<float>();
    cudaArray_t arrays[4];
    cudaMallocArray(&arrays[1], &format, W);
    cudaMemcpyToArray(arrays[1], 0, 0, data.data(), W * sizeof(float), cudaMemcpyHostToDevice);
    cudaMallocArray(&arrays[2], &format, W, H);
    cudaMemcpy2DToArray(arrays[2], 0, 0, data.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice);
    cudaMalloc3DArray(&arrays[3], &format, make_cudaExtent(W, H, D));
    cudaMalloc3DArray(&arrays[0], &format, make_cudaExtent(W, H, D), cudaArrayLayered);
    for (int number : {0, 3}) {
        cudaMemcpy3DParms all = {};
        all.srcPtr = make_cudaPitchedPtr(data.data(), W * sizeof(float), W, H);
        all.dstArray = arrays[number];
        all.extent = make_cudaExtent(W, H, D);
        all.kind = cudaMemcpyHostToDevice;
        cudaMemcpy3D(&all);
    }

    double worst = 0;
    for (int normalised : {0, 1})
        for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
            for (auto mode : {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap, cudaAddressModeMirror}) {
                if (!normalised && mode != cudaAddressModeClamp && mode != cudaAddressModeBorder) continue;
                cudaTextureDesc how = {};
                how.filterMode = filter;
                how.normalizedCoords = normalised;
                how.borderColor[0] = 7;
                for (int axis = 0; axis < 3; ++axis) how.addressMode[axis] = mode;
                for (int i = 0; i < N; ++i) places[i] = (i - 200) / 32.f * (normalised ? 1 / 8.f : 1);
                for (int dims = 1; dims <= 3; ++dims) {
                    cudaTextureObject_t t = texture(arrays[dims], how);
                    if (dims == 1) read1<<<1, N>>>(t, places, out);
                    if (dims == 2) read2<<<1, N>>>(t, places, out);
                    if (dims == 3) read3<<<1, N>>>(t, places, out);
                    cudaDeviceSynchronize();
                    cudaDestroyTextureObject(t);
                    for (int i = 0; i < N; ++i) {
                        float here[3] = {places[i], places[N - 1 - i], places[7 * i % N]};
                        worst = std::fmax(worst, std::fabs(out[i] - sampled(data.data(), dims, sizes, here, how)));
                    }
                }
            }
    printf("%s\n", worst < 1e-4 ? "as the guide says" : "not as the guide says");

    cudaTextureDesc how = {};
    cudaTextureObject_t t = texture(arrays[0], how);
    layered<<<1, W * D>>>(t, out);
    cudaDeviceSynchronize();
    int right = 0;
    for (int i = 0; i < W * D; ++i) right += out[i] == data[(i / W * H + 1) * W + i % W];
    printf("layers: %d of %d\n", right, W * D);
    cudaDestroyTextureObject(t);

    const int E = 8, SIDES = E * E * 6;
    for (unsigned layers : {0, 1}) {
        unsigned kind = cudaArrayCubemap | (layers ? cudaArrayLayered : 0);
        std::vector<float> sides(SIDES * (1 + layers));
        for (size_t i = 0; i < sides.size(); ++i) sides[i] = i;
        cudaArray_t array;
        cudaMalloc3DArray(&array, &format, make_cudaExtent(E, E, 6 * (1 + layers)), kind);
        cudaMemcpy3DParms all = {};
        all.srcPtr = make_cudaPitchedPtr(sides.data(), E * sizeof(float), E, E);
        all.dstArray = array;
        all.extent = make_cudaExtent(E, E, 6 * (1 + layers));
        all.kind = cudaMemcpyHostToDevice;
        cudaMemcpy3D(&all);
        how.normalizedCoords = 1;
        t = texture(array, how);
        cube<<<1, SIDES>>>(t, out, E, layers);
        cudaDeviceSynchronize();
        for (int i = right = 0; i < SIDES; ++i) right += out[i] == sides[i + layers * SIDES];
        printf("cube: %d of %d\n", right, SIDES);
        cudaDestroyTextureObject(t);
        cudaFreeArray(array);
        how.normalizedCoords = 0;
    }

    float* plain;
    cudaMalloc(&plain, 16 * sizeof(float));
#ifdef UNSET
    cudaMemcpy(plain, data.data(), 15 * sizeof(float), cudaMemcpyHostToDevice);
#else
    cudaMemcpy(plain, data.data(), 16 * sizeof(float), cudaMemcpyHostToDevice);
#endif
    cudaResourceDesc of = {};
    of.resType = cudaResourceTypeLinear;
    of.res.linear = {plain, format, 16 * sizeof(float)};
    cudaCreateTextureObject(&t, &of, &how, nullptr);
    fetch1<<<1, 24>>>(t, out);
    cudaDeviceSynchronize();
    printf("%g %g %g %g\n", out[3], out[5], out[18], out[20]);
    cudaDestroyTextureObject(t);
#ifdef DESTROYED
    fetch1<<<1, 24>>>(t, out);
    cudaDeviceSynchronize();
#endif

    uchar4* pixels;
    size_t pitch;
    cudaMallocPitch(&pixels, &pitch, W * sizeof(uchar4), H);
    std::vector<uchar4> image(W * H);
    for (int i = 0; i < W * H; ++i) image[i] = make_uchar4(i, 2 * i, 255 - i, 255);
    cudaMemcpy2D(pixels, pitch, image.data(), W * sizeof(uchar4), W * sizeof(uchar4), H, cudaMemcpyHostToDevice);
    of.resType = cudaResourceTypePitch2D;
    of.res.pitch2D = {pixels, cudaCreateChannelDesc<uchar4>(), W, H, pitch};
    cudaCreateTextureObject(&t, &of, &how, nullptr);
    bytes<<<1, W * H>>>(t, reinterpret_cast<int*>(out));
    cudaDeviceSynchronize();
    printf("%d %d\n", reinterpret_cast<int*>(out)[1], reinterpret_cast<int*>(out)[47]);
    cudaDestroyTextureObject(t);
    how.filterMode = cudaFilterModeLinear;
#ifdef FILTERS_INTEGERS
    printf("%s\n", cudaGetErrorString(cudaCreateTextureObject(&t, &of, &how, nullptr)));
#endif
    how.readMode = cudaReadModeNormalizedFloat;
    cudaCreateTextureObject(&t, &of, &how, nullptr);
    colours<<<1, W * H>>>(t, reinterpret_cast<float4*>(out));
    cudaDeviceSynchronize();
    printf("%g %g %g %g\n", out[4 * 17] * 255, out[4 * 17 + 1] * 255, out[4 * 17 + 2] * 255, out[4 * 17 + 3]);
    cudaDestroyTextureObject(t);

    std::vector<float> back(W * H);
    cudaMemcpy2DFromArray(back.data(), W * sizeof(float), arrays[2], 0, 0, W * sizeof(float), H, cudaMemcpyDeviceToHost);
    printf("%d\n", back == std::vector<float>(data.begin(), data.begin() + W * H));
    for (cudaArray_t each : arrays) cudaFreeArray(each);
    cudaFree(pixels);
    cudaFree(plain);
    cudaFree(places);
    cudaFree(out);
}
