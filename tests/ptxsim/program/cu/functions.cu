// Calls through pointers: a table of functions, virtual functions of objects that kernels make, lists of lists.
#include <cstdio>

typedef float (*Op)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ Op table[2] = {twice, square};
__device__ Op chosen = twice;

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ explicit Circle(float radius) : radius(radius) {}
    __device__ float area() const override { return 3 * radius * radius; }
};
struct All : Shape {
    Shape** shapes;
    int number;
    __device__ All(Shape** shapes, int number) : shapes(shapes), number(number) {}
    __device__ float area() const override
    {
        float sum = 0;
        for (int i = 0; i < number; ++i) sum += shapes[i]->area();
        return sum;
    }
};

__global__ void apply(float* x, Op given) { x[threadIdx.x] = given(table[threadIdx.x % 2](x[threadIdx.x])); }
__global__ void make(Shape** all)
{
    int t = threadIdx.x;
    all[t] = t % 2 ? static_cast<Shape*>(new Square(t)) : new Circle(t);
    __syncthreads();
    if (t == 0) all[blockDim.x] = new All(all, blockDim.x);
}
__global__ void use(Shape** all, float* out) { out[threadIdx.x] = all[threadIdx.x]->area(); }
__global__ void drop(Shape** all) { delete all[threadIdx.x + LATER]; }

int main()
{
    float* x;
    Shape** all;
    Op given;
    cudaMallocManaged(&x, 33 * sizeof(float));
    cudaMalloc(&all, 33 * sizeof(Shape*));
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
    for (int i = 0; i < 33; ++i) x[i] = i;
    cudaMemcpyFromSymbol(&given, chosen, sizeof given);
    apply<<<1, 32>>>(x, given);
    cudaDeviceSynchronize();
    printf("%g %g\n", x[4], x[5]);
    make<<<1, 32>>>(all);
    use<<<1, 33>>>(all, x);
    cudaDeviceSynchronize();
    printf("%g %g %g\n", x[4], x[5], x[32]);
    drop<<<1, 33>>>(all);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(all);
    cudaFree(x);
}
