/* stream.cc - streams and events: see README
 *
 * Nothing is done when it is issued. Whoever waits has some of what may be done, of any stream,
 * done in an order that is drawn, until what was waited for is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cuda_on_cpu.h"

#include <deque>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <vector>

struct cuda_on_cpu_stream {
    std::deque<std::function<bool()>> work;
};

struct cuda_on_cpu_event {
    unsigned long recorded, done; /* times */
};

static std::vector<cudaStream_t> streams;

static bool do_one(cudaStream_t wanted);
static bool do_first(cudaStream_t stream);
static void check_stream(cudaStream_t stream);

void cuda_on_cpu_issue(cudaStream_t stream, const std::function<bool()> &work)
{
    check_stream(stream);
    stream->work.push_back(work);
}

static void check_stream(cudaStream_t stream)
{
    for (cudaStream_t known : streams)
        if (known == stream)
            return;
    cuda_on_cpu_die("no such stream; the default one orders too much");
}

/* Another process has to do something first: on few cores it should not have to fight for one. */
static void let_others()
{
    const struct timespec moment = { 0, 20000 };

    nanosleep(&moment, NULL);
}

/* Until this stream is empty, or until the event has happened. */
static void wait_for(cudaStream_t wanted, cudaEvent_t event)
{
    const unsigned long until = event != NULL ? event->recorded : 0;

    while (event != NULL ? event->done < until : !wanted->work.empty())
        if (!do_one(wanted))
            let_others();
    cuda_on_cpu_open(false);
}

/* false: of what is first in the streams, nothing can be done now. */
static bool do_one(cudaStream_t wanted)
{
    const size_t count = streams.size(), from = cuda_on_cpu_draw((unsigned)count);
    size_t       i;

    if (wanted != NULL && cuda_on_cpu_draw(2) == 0 && do_first(wanted))
        return true;
    for (i = 0; i < count; i++)
        if (do_first(streams[(from + i) % count]))
            return true;
    return false;
}

static bool do_first(cudaStream_t stream)
{
    bool is_done;

    if (stream->work.empty())
        return false;
    cuda_on_cpu_open(true);
    is_done = stream->work.front()();
    if (is_done)
        stream->work.pop_front();
    return is_done;
}

void cuda_on_cpu_finish()
{
    for (cudaStream_t stream : streams)
        wait_for(stream, NULL);
}

void cuda_on_cpu_abandon()
{
    for (cudaStream_t stream : streams)
        stream->work.clear();
}

/* Some of what is under way. */
static void do_some()
{
    unsigned times = cuda_on_cpu_draw(4);

    while (times-- > 0 && !streams.empty())
        if (!do_one(NULL))
            let_others();
    cuda_on_cpu_open(false);
}

extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (flags != cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    streams.push_back(*stream = new cuda_on_cpu_stream());
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    size_t i;

    check_stream(stream);
    wait_for(stream, NULL);
    for (i = 0; streams[i] != stream; i++)
        ;
    streams.erase(streams.begin() + (long)i);
    delete stream;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    check_stream(stream);
    do_some();
    return stream->work.empty() ? cudaSuccess : cudaErrorNotReady;
}

extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    check_stream(stream);
    wait_for(stream, NULL);
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    const unsigned long until = event->recorded;

    cuda_on_cpu_issue(stream, [event, until] { return event->done >= until; });
    return flags == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    if (flags != cudaEventDisableTiming)
        return cudaErrorInvalidValue;
    *event = new cuda_on_cpu_event();
    return cudaSuccess;
}

/* What waits for it must not look at it any more. */
extern "C" cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cuda_on_cpu_finish();
    delete event;
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    const unsigned long number = ++event->recorded;

    cuda_on_cpu_issue(stream, [event, number] {
        event->done = number;
        return true;
    });
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventQuery(cudaEvent_t event)
{
    do_some();
    return event->done == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    wait_for(NULL, event);
    return cudaSuccess;
}

/* ---- copies ---- */

/* What the host has in pinned memory is read, and written, when the stream comes to it. Other
 * memory is taken at once, or waited for, as CUDA does. */
extern "C" cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const void *host = kind == cudaMemcpyHostToDevice ? from : to;
    const bool  is_paged = kind != cudaMemcpyDeviceToDevice &&
                          cuda_on_cpu_kind_of(host) != CUDA_ON_CPU_PINNED;

    if (kind == cudaMemcpyHostToHost)
        return cudaErrorInvalidValue;
    if (kind != cudaMemcpyHostToDevice)
        cuda_on_cpu_want("copy from", CUDA_ON_CPU_DEVICE, from, bytes);
    if (kind != cudaMemcpyDeviceToHost)
        cuda_on_cpu_want("copy to", CUDA_ON_CPU_DEVICE, to, bytes);
    if (kind != cudaMemcpyDeviceToDevice && !is_paged)
        cuda_on_cpu_want("copy", CUDA_ON_CPU_PINNED, host, bytes);
    if (is_paged && cuda_on_cpu_kind_of(host) == CUDA_ON_CPU_DEVICE)
        cuda_on_cpu_die("copy: %p is not the host's", host);
    cuda_on_cpu_issue(stream, [to, from, bytes] {
        memmove(to, from, bytes);
        return true;
    });
    if (is_paged)
        wait_for(stream, NULL);
    return cudaSuccess;
}

extern "C" cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    cuda_on_cpu_want("memset", CUDA_ON_CPU_DEVICE, memory, bytes);
    cuda_on_cpu_issue(stream, [memory, value, bytes] {
        memset(memory, value, bytes);
        return true;
    });
    return cudaSuccess;
}

/* ---- the device ---- */

extern "C" const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:               return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNotReady:         return "device not ready";
    default:                        return "invalid argument";
    }
}

extern "C" cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

extern "C" cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 8;
    return cudaSuccess;
}

extern "C" cudaError_t cudaSetDevice(int device)
{
    return device >= 0 && device < 8 ? cudaSuccess : cudaErrorInvalidValue;
}

/* Each process has GPUs of its own. */
extern "C" cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    static char uuid[16];

    if (uuid[0] == 0 && getrandom(uuid, sizeof uuid, 0) != sizeof uuid)
        return cudaErrorInvalidValue;
    uuid[0] |= 1;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "a CPU that stands in for a GPU, for tests");
    memcpy(properties->uuid.bytes, uuid, sizeof uuid);
    properties->uuid.bytes[15] = (char)(uuid[15] + device);
    return cudaSuccess;
}
