/* nvml_node.c - stands for NVIDIA's management library, for GPUs that a script breaks during a run
 *
 * There are two GPUs. The words of the file that NVML_NODE names say what is wrong with number 1:
 * used=BYTES of its memory, lost, reset, pending, down (an NVLink), gone (it is not counted),
 * broken (no call works), hang (no call returns), stall (the call about clocks does not), mhz=N of
 * its clock, of 2000, reasons=N of it, ecc=N errors. Number 0 is always well, but for mhzs=N, the
 * clock of both. Each look at errors of GPU 1 makes the file NVML_NODE.looked.
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

struct rates {
    unsigned gpu, memory;
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

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz);
int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates);

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

/* Returns the number after that word, which is about GPU 1. */
static unsigned long long number(void *device, const char *word, unsigned long long otherwise)
{
    const char *text = device == &devices[1] ? has(word) : NULL;

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void note_look(void)
{
    char  path[4096];
    char *name = getenv("NVML_NODE");
    int   fd;

    if (name == NULL || strlen(name) > sizeof path - 8)
        return;
    strcpy(path, name);
    strcat(path, ".looked");
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
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
    (void)kind, (void)counter;
    *count = number(device, "ecc=", 0);
    if (device == &devices[1])
        note_look();
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = number(device, "reasons=", 0);
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

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
    const char *both = has("mhzs=");
    unsigned    usual = both != NULL ? (unsigned)strtoul(both, NULL, 10) : 1980;

    (void)clock;
    while (has("stall") != NULL)
        usleep(10000);
    *mhz = (unsigned)number(device, "mhz=", usual);
    return 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz)
{
    (void)device, (void)clock;
    *mhz = 2000;
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates)
{
    (void)device;
    *rates = (struct rates){ .gpu = 97 };
    return 0;
}
