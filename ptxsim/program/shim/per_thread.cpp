// With nvcc --default-stream per-thread these functions have other names. A launch ends before the next one begins
// anyway, so they are the same functions.

#define AGAIN(name, ending) extern "C" decltype(name) name##ending __attribute__((alias(#name)))

AGAIN(cudaEventRecord, _ptsz);
AGAIN(cudaEventRecordWithFlags, _ptsz);
AGAIN(cudaFreeAsync, _ptsz);
AGAIN(cudaGraphLaunch, _ptsz);
AGAIN(cudaLaunchCooperativeKernel, _ptsz);
AGAIN(cudaLaunchHostFunc, _ptsz);
AGAIN(cudaLaunchKernel, _ptsz);
AGAIN(__cudaLaunchKernel, _ptsz);
AGAIN(cudaLaunchKernelExC, _ptsz);
AGAIN(cudaMallocAsync, _ptsz);
AGAIN(cudaMemPrefetchAsync, _ptsz);
AGAIN(cudaMemcpy, _ptds);
AGAIN(cudaMemcpy2D, _ptds);
AGAIN(cudaMemcpy2DAsync, _ptsz);
AGAIN(cudaMemcpy3D, _ptds);
AGAIN(cudaMemcpy3DAsync, _ptsz);
AGAIN(cudaMemcpyAsync, _ptsz);
AGAIN(cudaMemcpyFromSymbol, _ptds);
AGAIN(cudaMemcpyFromSymbolAsync, _ptsz);
AGAIN(cudaMemcpyToSymbol, _ptds);
AGAIN(cudaMemcpyToSymbolAsync, _ptsz);
AGAIN(cudaMemset, _ptds);
AGAIN(cudaMemset2D, _ptds);
AGAIN(cudaMemset2DAsync, _ptsz);
AGAIN(cudaMemsetAsync, _ptsz);
AGAIN(cudaStreamAddCallback, _ptsz);
AGAIN(cudaStreamBeginCapture, _ptsz);
AGAIN(cudaStreamEndCapture, _ptsz);
AGAIN(cudaStreamGetFlags, _ptsz);
AGAIN(cudaStreamGetPriority, _ptsz);
AGAIN(cudaStreamIsCapturing, _ptsz);
AGAIN(cudaStreamQuery, _ptsz);
AGAIN(cudaStreamSynchronize, _ptsz);
AGAIN(cudaStreamWaitEvent, _ptsz);

#undef AGAIN
