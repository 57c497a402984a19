template <class T>
__device__ void put(T* tile, T x) {
    tile[threadIdx.x] = x;
}
