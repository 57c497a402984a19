// A program that loads its kernels itself, by the driver's API.
#include <cuda.h>

#include <cstdio>

const char PTX[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 launches = 0;
.visible .entry scale(.param .u64 x, .param .u32 by)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [by];
    mov.u32 %r2, %tid.x;
    setp.ne.u32 %p, %r2, 0;
    @%p bra $each;
    atom.global.add.u32 %r3, [launches], 1;
$each:
    mov.u32 %r4, %ctaid.x;
    mad.lo.u32 %r2, %r4, 4, %r2;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    add.u32 %r4, %r2, 1;
    mul.lo.u32 %r5, %r5, %r4;
    mad.lo.u32 %r5, %r5, 1, %r1;
    st.global.u32 [%rd3], %r5;
    ret;
}
)";

int main() {
    cuInit(0);
    CUdevice device;
    CUcontext context;
    int count, major, minor;
    char name[64];
    cuDeviceGetCount(&count);
    cuDeviceGet(&device, 0);
    cuDeviceGetName(name, sizeof name, device);
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    printf("%d.%d on %s, %d GPU\n", major, minor, name, count);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);

    CUmodule module, missing;
    CUfunction scale, other;
    CUdeviceptr launches, none;
    size_t bytes;
    cuModuleLoadData(&module, PTX);
    cuModuleGetFunction(&scale, module, "scale");
    cuModuleGetGlobal(&launches, &bytes, module, "launches");
    printf("no file %d, no kernel %d, no variable %d\n", cuModuleLoad(&missing, "nowhere.ptx"),
           cuModuleGetFunction(&other, module, "nobody"), cuModuleGetGlobal(&none, &bytes, module, "nothing"));
    int grid, block;
    cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 1 << 17, 0);
    printf("%d threads, %d blocks\n", block, grid);

    CUdeviceptr x;
    unsigned number[4], by = 1;
    CUstream stream;
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAlloc(&x, sizeof number);
    cuMemsetD32Async(x, 1, 4, stream);
    void* arguments[] = {&x, &by};
    cuLaunchKernel(scale, 1, 1, 1, 4, 1, 1, 0, stream, arguments, nullptr);
    cuMemcpyDtoHAsync(number, x, sizeof number, stream);
    cuStreamSynchronize(stream);
    printf("%u %u %u %u\n", number[0], number[1], number[2], number[3]);
    struct {
        CUdeviceptr x;
        unsigned by;
    } packed = {x, 0};
    size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    cuLaunchKernel(scale, 1, 1, 1, 4, 1, 1, 0, stream, nullptr, extra);
    cuStreamSynchronize(stream);
    cuMemcpyDtoH(number, x, sizeof number);
    printf("%u %u %u %u\n", number[0], number[1], number[2], number[3]);
    cuMemcpyDtoH(number, launches, bytes = 4);
    printf("launches %u\n", number[0]);
    CUdeviceptr base;
    CUresult found = cuMemGetAddressRange(&base, &bytes, x + 4);
    printf("range %d of %zu, %d\n", int(x + 4 - base) + found, bytes, cuMemGetAddressRange(&base, &bytes, 64));
#ifdef TOO_FAR
    cuLaunchKernel(scale, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, extra);
#endif
    cuStreamDestroy(stream);
    cuMemFree(x);
    cuModuleUnload(module);
}
