/* cuda_stub.c - stands for NVIDIA's CUDA driver library where there is none
 *
 * CUDA_STUB says what is wrong with it: a number, which cuInit returns; "hang": it does not return;
 * "corrupt": bytes come back from a GPU as others; "@FILE": what that file says. It has two GPUs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *memory, size_t size);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);

static char contexts[2];

static const char *wrong(void)
{
    static char said[16];
    const char *text = getenv("CUDA_STUB");
    FILE       *file = text != NULL && text[0] == '@' ? fopen(text + 1, "re") : NULL;

    if (file != NULL) {
        if (fscanf(file, "%15s", said) != 1)
            said[0] = '\0';
        fclose(file);
        return said;
    }
    return text != NULL ? text : "";
}

int cuInit(unsigned flags)
{
    while (strcmp(wrong(), "hang") == 0)
        pause();
    return (int)flags + atoi(wrong());
}

int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &contexts[device];
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    return context != &contexts[0] && context != &contexts[1];
}

int cuMemAlloc_v2(uint64_t *memory, size_t size)
{
    *memory = (uint64_t)(uintptr_t)malloc(size);
    return *memory == 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size)
{
    memcpy((void *)(uintptr_t)to, from, size);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size)
{
    memcpy(to, (const void *)(uintptr_t)from, size);
    if (strcmp(wrong(), "corrupt") == 0)
        ((char *)to)[size - 1] ^= 1;
    return 0;
}
