/* memory.cc - memory of a GPU that there is not: see README
 *
 * Each allocation ends where a page ends that nobody may touch; what is between its end and the
 * page's holds a pattern. Its own pages can be touched while the GPU works, and only then.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cuda_on_cpu.h"

#include <map>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE      4096u
#define ALIGNMENT 256u
#define PATTERN   0xa5
#define ROOM      ((size_t)1 << 30) /* of the GPU */

struct allocation {
    unsigned char        *pages;
    size_t                mapped, size; /* mapped: without the page at its end */
    enum cuda_on_cpu_kind kind;
};

static std::map<const unsigned char *, struct allocation> allocations; /* by their first byte */
static size_t                                             used;
static bool                                               is_open_now;

void cuda_on_cpu_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("cuda_on_cpu: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    abort();
}

unsigned cuda_on_cpu_draw(unsigned limit)
{
    static uint64_t state;
    const char     *seed;

    if (state == 0) {
        seed = getenv("CUDA_ON_CPU_SEED");
        state = seed != NULL ? strtoull(seed, NULL, 10) * 2 + 1 : 1;
    }
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((state >> 33) % limit);
}

static void protect(const struct allocation &a)
{
    if (a.kind == CUDA_ON_CPU_DEVICE &&
        mprotect(a.pages, a.mapped, is_open_now ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        cuda_on_cpu_die("mprotect failed");
}

void cuda_on_cpu_open(bool is_open)
{
    if (is_open == is_open_now)
        return;
    is_open_now = is_open;
    for (const auto &entry : allocations)
        protect(entry.second);
}

/* Memory begins as what is no number in any type. */
static cudaError_t take(void **memory, size_t bytes, enum cuda_on_cpu_kind kind)
{
    const size_t      padded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct allocation a;

    if (bytes == 0 || (kind == CUDA_ON_CPU_DEVICE && padded > ROOM - used))
        return bytes == 0 ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
    a.mapped = (padded + PAGE - 1) / PAGE * PAGE;
    a.size = bytes;
    a.kind = kind;
    a.pages = (unsigned char *)mmap(NULL, a.mapped + PAGE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a.pages == MAP_FAILED || mprotect(a.pages + a.mapped, PAGE, PROT_NONE) != 0)
        return cudaErrorMemoryAllocation;
    *memory = a.pages + a.mapped - padded;
    if (bytes < ((size_t)1 << 24)) /* more of it would take more memory than a test has */
        memset(*memory, 0xff, bytes);
    memset((unsigned char *)*memory + bytes, PATTERN, padded - bytes);
    used += kind == CUDA_ON_CPU_DEVICE ? padded : 0;
    allocations[(const unsigned char *)*memory] = a;
    protect(a);
    return cudaSuccess;
}

static cudaError_t give_back(void *memory, enum cuda_on_cpu_kind kind)
{
    const auto found = allocations.find((const unsigned char *)memory);
    size_t     i, padded;

    if (memory == NULL)
        return cudaSuccess;
    if (found == allocations.end() || found->second.kind != kind)
        cuda_on_cpu_die("%p is freed, and was not allocated", memory);
    cuda_on_cpu_finish();
    cuda_on_cpu_open(true);
    padded = (found->second.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (i = found->second.size; i < padded; i++)
        if (((unsigned char *)memory)[i] != PATTERN)
            cuda_on_cpu_die("byte %zu of %zu was written to", i, found->second.size);
    cuda_on_cpu_open(false);
    munmap(found->second.pages, found->second.mapped + PAGE);
    used -= kind == CUDA_ON_CPU_DEVICE ? padded : 0;
    allocations.erase(found);
    return cudaSuccess;
}

enum cuda_on_cpu_kind cuda_on_cpu_kind_of(const void *memory)
{
    auto next = allocations.upper_bound((const unsigned char *)memory);

    if (next == allocations.begin())
        return CUDA_ON_CPU_NONE;
    --next;
    return (const unsigned char *)memory < next->first + next->second.size ? next->second.kind
                                                                          : CUDA_ON_CPU_NONE;
}

void cuda_on_cpu_want(const char *what, enum cuda_on_cpu_kind kind, const void *memory,
                      size_t bytes)
{
    auto         next = allocations.upper_bound((const unsigned char *)memory);
    const size_t begin =
        next != allocations.begin() ? (size_t)((const unsigned char *)memory - (--next)->first) : 0;

    if (cuda_on_cpu_kind_of(memory) != kind)
        cuda_on_cpu_die("%s: %p is not %s", what, memory,
                        kind == CUDA_ON_CPU_DEVICE ? "memory of the GPU" : "pinned memory");
    if (bytes > next->second.size - begin)
        cuda_on_cpu_die("%s: %zu bytes from byte %zu on of %zu", what, bytes, begin,
                        next->second.size);
}

extern "C" cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    return take(memory, bytes, CUDA_ON_CPU_DEVICE);
}

extern "C" cudaError_t cudaFree(void *memory)
{
    return give_back(memory, CUDA_ON_CPU_DEVICE);
}

extern "C" cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return take(memory, bytes, CUDA_ON_CPU_PINNED);
}

extern "C" cudaError_t cudaFreeHost(void *memory)
{
    return give_back(memory, CUDA_ON_CPU_PINNED);
}

extern "C" cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *free = ROOM - used;
    *total = ROOM;
    return cudaSuccess;
}
