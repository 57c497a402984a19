// NVML: which GPU there is, and the clocks that its data sheet says. What would have to be measured is not supported.

#include <nvml.h>

#include <cstdio>
#include <cstring>

#include "talk.h"

namespace {

nvmlReturn_t said(nvmlDevice_t device, cudaError_t error) {
    return !device ? NVML_ERROR_INVALID_ARGUMENT : error ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

int number(nvmlDevice_t device) { return int(word(device)) - 1; }

nvmlReturn_t clock_of(nvmlDevice_t device, nvmlClockType_t which, unsigned* mhz) {
    int khz = 0;
    cudaError_t error = cudaDeviceGetAttribute(
        &khz, which == NVML_CLOCK_MEM ? cudaDevAttrMemoryClockRate : cudaDevAttrClockRate, number(device));
    *mhz = unsigned(khz / 1000);
    return said(device, error);
}

// One clock, and how many the caller has room for.
nvmlReturn_t only_clock(nvmlDevice_t device, nvmlClockType_t which, unsigned* count, unsigned* mhz) {
    unsigned room = *count;
    *count = 1;
    return room && mhz ? clock_of(device, which, mhz) : NVML_ERROR_INSUFFICIENT_SIZE;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

const char* nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
        case NVML_SUCCESS: return "Success";
        case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
        case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
        case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
        case NVML_ERROR_NOT_FOUND: return "Not Found";
        case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
        default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
    int found = 0;
    cudaError_t error = cudaGetDeviceCount(&found);
    *count = unsigned(found);
    return error ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
    unsigned count = 0;
    nvmlDeviceGetCount(&count);
    if (index >= count) return NVML_ERROR_INVALID_ARGUMENT;
    *device = reinterpret_cast<nvmlDevice_t>(uint64_t(index) + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* device) {
    unsigned count = 0;
    nvmlDeviceGetCount(&count);
    for (unsigned i = 0; i < count; ++i) {
        char own[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
        cudaDeviceGetPCIBusId(own, sizeof own, int(i));
        if (!strcmp(own, text)) return nvmlDeviceGetHandleByIndex(i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
    *index = unsigned(number(device));
    return said(device, cudaSuccess);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
    cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, number(device));
    if (!error) snprintf(name, length, "%s", found.name);
    return said(device, error);
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* info) {
    memset(info, 0, sizeof *info);
    cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, number(device));
    info->bus = unsigned(found.pciBusID);
    cudaDeviceGetPCIBusId(info->busId, sizeof info->busId, number(device));
    memcpy(info->busIdLegacy, info->busId, sizeof info->busIdLegacy - 1);
    return said(device, error);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    size_t left = 0, total = 0;
    cudaError_t error = cudaMemGetInfo(&left, &total);
    *memory = {total, left, total - left};
    return said(device, error);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t which, unsigned* mhz) {
    return clock_of(device, which, mhz);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t which, unsigned* mhz) {
    return clock_of(device, which, mhz);
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t which, unsigned* mhz) {
    return clock_of(device, which, mhz);
}
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned* count, unsigned* mhz) {
    return only_clock(device, NVML_CLOCK_MEM, count, mhz);
}
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned, unsigned* count, unsigned* mhz) {
    return only_clock(device, NVML_CLOCK_GRAPHICS, count, mhz);
}
nvmlReturn_t nvmlDeviceGetAPIRestriction(nvmlDevice_t device, nvmlRestrictedAPI_t, nvmlEnableState_t* restricted) {
    *restricted = NVML_FEATURE_ENABLED;
    return said(device, cudaSuccess);
}
nvmlReturn_t nvmlDeviceSetApplicationsClocks(nvmlDevice_t, unsigned, unsigned) { return NVML_ERROR_NO_PERMISSION; }
nvmlReturn_t nvmlDeviceResetApplicationsClocks(nvmlDevice_t) { return NVML_ERROR_NO_PERMISSION; }
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*) {
    return NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t*) { return NVML_ERROR_NOT_SUPPORTED; }

}  // extern "C"
