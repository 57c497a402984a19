// Words of which a part was never written. A line with READ gets a finding in a program built with -D FAULTY.
#include <cstdio>

struct Padded { char kind; int value; };
struct alignas(16) Three { float x, y, z; };
struct Ends { double value; char kind; };

__global__ void bytes(unsigned char* to) { to[4 * threadIdx.x] = threadIdx.x + 1; }
__global__ void halves(unsigned short* to) { to[2 * threadIdx.x + 1] = threadIdx.x + 1; }
__global__ void first(float* to, int n) { if (threadIdx.x < n) to[threadIdx.x] = 1; }
__global__ void members(Padded* to) { to[threadIdx.x].kind = 1; to[threadIdx.x].value = threadIdx.x; }
__global__ void threes(Three* to) { to[threadIdx.x].x = to[threadIdx.x].y = to[threadIdx.x].z = 2; }
__global__ void ends(Ends* to) { to[threadIdx.x].value = 3; to[threadIdx.x].kind = 4; }
template <class T> __global__ void copy(T* to, const T* from, int n) { if (threadIdx.x < n) to[threadIdx.x] = from[threadIdx.x]; }
template <class T> __global__ void staged(T* to, const T* from)
{
    __shared__ T tile[32];
    tile[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = tile[31 - threadIdx.x];
}
__global__ void local_copy(Padded* to, const Padded* from, int at)
{
    Padded both[2] = {from[threadIdx.x], from[31 - threadIdx.x]};
    to[threadIdx.x] = both[at];
}
__global__ void by_memcpy(char* to, const char* from) { memcpy(to + 16 * threadIdx.x, from + 16 * threadIdx.x, 16); }

__global__ void low_byte(int* out, const unsigned* word) { out[threadIdx.x] = word[threadIdx.x] & 0xff; }
__global__ void high_half(int* out, const unsigned* word) { out[threadIdx.x] = word[threadIdx.x] >> 16; }
__global__ void insert(unsigned* word)
{
    word[threadIdx.x] = (word[threadIdx.x] & 0xffff00ff) | 0x700;
    word[threadIdx.x] = __byte_perm(word[threadIdx.x], 0x55, 0x3410);
}
__global__ void masked(float* out, const float4* row, int n)
{
    float4 v = row[threadIdx.x];
    int at = 4 * threadIdx.x;
    float sum = 0;
    if (at < n) sum += v.x;
    if (at + 1 < n) sum += v.y;
    if (at + 2 < n) sum += v.z;
    if (at + 3 < n) sum += v.w;
    out[threadIdx.x] = sum;
}
__global__ void chosen(float* out, const float4* row, int n)
{
    float4 v = row[threadIdx.x];
    float last = 4 * threadIdx.x + 3 < n ? v.w * v.w : 0;
    out[threadIdx.x] = v.x + last;
}
__global__ void lengths(float* out, const Three* at)
{
    Three v = at[threadIdx.x];
    out[threadIdx.x] = v.x * v.x + v.y * v.y + v.z * v.z;
}
__global__ void values(int* out, const Padded* at) { Padded p = at[threadIdx.x]; out[threadIdx.x] = p.value + p.kind; }
__global__ void other_half(unsigned* word)
{
    unsigned old = word[threadIdx.x], was;
    do { was = old; old = atomicCAS(word + threadIdx.x, was, (was & 0xffff0000) | 7); } while (old != was);
}

__global__ void sum(unsigned* out, const unsigned* word) { out[threadIdx.x] = word[threadIdx.x] + 1; } // READ
__global__ void branch(int* out, const unsigned* word) { if (word[threadIdx.x] > 5) out[threadIdx.x] = 1; } // READ
__global__ void index(int* out, const unsigned* word)
{
    unsigned at = word[threadIdx.x] >> 4; // READ
    out[at & 31] = 1;
}
__global__ void row_sum(float* out, const float4* row)
{
    float4 v = row[threadIdx.x]; // READ
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void same(int* out, const Three* a)
{
    const uint4* bits = (const uint4*)a;
    uint4 mine = bits[threadIdx.x]; // READ
    out[threadIdx.x] = mine.x == 2 || mine.w > 7;
}
__global__ void add_up(unsigned* out, const unsigned* word) { atomicAdd(out, word[threadIdx.x]); } // READ
__global__ void through_shared(int* out, const unsigned* word)
{
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = word[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x] * 3; // READ
}
__global__ void behind(float* out, const float* x) { out[threadIdx.x] = x[threadIdx.x] + 1; } // READ

template <class T> T* made(int n = 64)
{
    T* found;
    cudaMalloc(&found, n * sizeof(T));
    return found;
}

int main()
{
    auto word = made<unsigned>(), half = made<unsigned>(), word2 = made<unsigned>();
    auto x = made<float>(), x2 = made<float>(), sums = made<float>();
    auto p = made<Padded>(), p2 = made<Padded>(), p3 = made<Padded>(), p4 = made<Padded>();
    auto v = made<Three>(), v2 = made<Three>();
    auto e = made<Ends>(), e2 = made<Ends>();
    auto out = made<int>();
    cudaMemset(out, 0, 256);
    bytes<<<1, 32>>>((unsigned char*)word);
    halves<<<1, 32>>>((unsigned short*)half);
    first<<<1, 32>>>(x, 14);
    members<<<1, 32>>>(p);
    threes<<<1, 32>>>(v);
    ends<<<1, 32>>>(e);

    by_memcpy<<<1, 32>>>((char*)e2, (const char*)e);
    copy<<<1, 32>>>((uint4*)x2, (const uint4*)x, 4);
    copy<<<1, 32>>>(p2, p, 32);
    staged<<<1, 32>>>(p3, p2);
    local_copy<<<1, 32>>>(p4, p3, 1);
    staged<<<1, 32>>>(v2, v);
    staged<<<1, 32>>>(e2, e);
    cudaMemcpy(word2, word, 128, cudaMemcpyDeviceToDevice);
    low_byte<<<1, 32>>>(out, word);
    low_byte<<<1, 32>>>(out, word2);
    high_half<<<1, 32>>>(out, half);
    insert<<<1, 32>>>(word2);
    low_byte<<<1, 32>>>(out, word2);
    masked<<<1, 4>>>(sums, (float4*)x, 14);
    masked<<<1, 4>>>(sums, (float4*)x2, 14);
    chosen<<<1, 4>>>(sums, (float4*)x2, 14);
    lengths<<<1, 32>>>(sums, v2);
    values<<<1, 32>>>(out, p4);
    other_half<<<1, 32>>>(half);
    low_byte<<<1, 32>>>(out, half);
#ifdef FAULTY
    halves<<<1, 32>>>((unsigned short*)word2);
    sum<<<1, 32>>>((unsigned*)out, word);
    branch<<<1, 32>>>(out, word);
    index<<<1, 32>>>(out, word);
    row_sum<<<1, 4>>>(sums, (float4*)x);
    same<<<1, 32>>>(out, v2);
    add_up<<<1, 32>>>((unsigned*)out, word);
    through_shared<<<1, 32>>>(out, word);
    behind<<<1, 16>>>(sums, x2);
#endif
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
