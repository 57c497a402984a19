__device__ int counter = 10;
__constant__ float weights[3];

__device__ float weighted(const float* x, int at) {
    return weights[0] * x[at] + weights[1] * x[at + 1] + weights[2] * x[at + 2 + OFFSET];
}

void set_weights() {
    const float values[] = {1, 2, 3};
    cudaMemcpyToSymbol(weights, values, sizeof values);
}

int counted() {
    int value;
    cudaMemcpyFromSymbol(&value, counter, sizeof value);
    return value;
}
