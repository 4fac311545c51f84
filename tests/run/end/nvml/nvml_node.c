/* nvml_node.c - stands for NVIDIA's management library, for GPUs that a script breaks during a run
 *
 * There are two GPUs. The words of the file that NVML_NODE names say what is wrong with number 1:
 * used=BYTES of its memory, lost, reset, pending, down (an NVLink), gone (it is not counted),
 * broken (no call works), hang (no call returns). Number 0 is always well.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS     2
#define GPU_LOST 15
#define RESET    16
#define UNKNOWN  999

struct memory {
    unsigned long long total, free, used;
};

int         nvmlInit_v2(void);
const char *nvmlErrorString(int code);
int         nvmlDeviceGetCount_v2(unsigned *count);
int         nvmlDeviceGetHandleByIndex_v2(unsigned number, void **device);
int         nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *count);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *is_pending, unsigned *has_failed);
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *is_active);

static char devices[GPUS], words[256];

/* Returns what follows the word; NULL: it is not there. */
static const char *has(const char *word)
{
    const char *name = getenv("NVML_NODE");
    int         fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t     got = fd >= 0 ? read(fd, words, sizeof words - 1) : 0;
    const char *at;

    if (fd >= 0)
        close(fd);
    words[got > 0 ? got : 0] = '\0';
    at = strstr(words, word);
    return at != NULL ? at + strlen(word) : NULL;
}

int nvmlInit_v2(void)
{
    while (has("hang") != NULL)
        usleep(10000);
    return has("broken") != NULL ? UNKNOWN : 0;
}

const char *nvmlErrorString(int code)
{
    return code == GPU_LOST ? "GPU is lost"
           : code == RESET  ? "GPU requires reset" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = has("gone") != NULL ? 1 : GPUS;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **device)
{
    *device = &devices[number];
    return number == 1 && has("lost") != NULL ? GPU_LOST
           : number == 1 && has("reset") != NULL ? RESET : 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    (void)device;
    strncpy(name, "a GPU of a test", size);
    return 0;
}

int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *count)
{
    (void)device, (void)kind, (void)counter;
    *count = 0;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 0;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    const char *used = device == &devices[1] ? has("used=") : NULL;

    *memory = (struct memory){ .total = 80ULL << 30 };
    memory->used = used != NULL ? strtoull(used, NULL, 10) : 1 << 20;
    memory->free = memory->total - memory->used;
    return 0;
}

int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *is_pending, unsigned *has_failed)
{
    *corrected = *uncorrected = *has_failed = 0;
    *is_pending = device == &devices[1] && has("pending") != NULL;
    return 0;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *is_active)
{
    *is_active = !(device == &devices[1] && link == 3 && has("down") != NULL);
    return link < 4 ? 0 : 2;
}
