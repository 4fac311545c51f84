/* nvml_stub.c - stands for NVIDIA's management library where there is none
 *
 * Four GPUs that say that they are stubs: number 1 has uncorrected memory errors, 2 is slowed
 * down by heat, and 3 has fallen off the bus; if it is compiled with ALL_IS_WELL, nothing is wrong
 * with them. It needs no other library.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>
#include <stddef.h>

#define GPUS     4
#define GPU_LOST 15
#define HOT      0x20

#ifdef ALL_IS_WELL
#define IS_BAD false
#else
#define IS_BAD true
#endif

int         nvmlInit_v2(void);
const char *nvmlErrorString(int code);
int         nvmlDeviceGetCount_v2(unsigned *count);
int         nvmlDeviceGetHandleByIndex_v2(unsigned number, void **device);
int         nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *count);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);

static char devices[GPUS];

int nvmlInit_v2(void)
{
    return 0;
}

const char *nvmlErrorString(int code)
{
    (void)code;
    return "an error of a stub";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = GPUS;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **device)
{
    *device = &devices[number];
    return IS_BAD && number == 3 ? GPU_LOST : 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    static const char stub[] = "NVML stub";
    unsigned          i;

    (void)device;
    for (i = 0; i < sizeof stub && i < size; i++)
        name[i] = stub[i];
    return 0;
}

int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *count)
{
    (void)counter;
    *count = IS_BAD && kind == 1 && device == &devices[1] ? 3 : 0;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = IS_BAD && device == &devices[2] ? HOT : 1;
    return 0;
}
