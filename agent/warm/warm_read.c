/* warm_read.c - see warm_read.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "warm/warm_read.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "xalloc.h"

struct warm_reading {
    const struct warm_parts    *parts;
    const struct warm_read_ops *ops;
    void                       *arg;
    _Atomic size_t              next;
    _Atomic int64_t             bytes;
    _Atomic int                 failed, running;
    pthread_t                   thread[WARM_STREAMS_MAX];
    int                         threads;
};

static int   open_path(const struct warm_part *part, void *arg);
static void  close_path(const struct warm_part *part, int fd, void *arg);
static void  ignore(const struct warm_part *part, bool is_whole, void *arg);
static void *stream(void *arg);
static void  read_part(struct warm_reading *reading, const struct warm_part *part, char *bytes);

void warm_parts_add(struct warm_parts *parts, const struct warm_part *part)
{
    struct warm_part piece = *part;
    int64_t          left = part->length;

    for (; left > 0; left -= piece.length, piece.offset += piece.length) {
        piece.length = left < WARM_PART_BYTES ? left : WARM_PART_BYTES;
        if ((parts->count & (parts->count - 1)) == 0)
            parts->part = xreallocarray(parts->part, parts->count > 0 ? 2 * parts->count : 1,
                                        sizeof *parts->part);
        parts->part[parts->count++] = piece;
    }
    parts->bytes += part->length;
}

void warm_parts_clear(struct warm_parts *parts)
{
    free(parts->part);
    *parts = (struct warm_parts){ 0 };
}

struct warm_reading *warm_read_begin(const struct warm_parts *parts, int streams,
                                     const struct warm_read_ops *ops, void *arg)
{
    static const struct warm_read_ops by_path = { open_path, close_path, ignore };
    struct warm_reading              *reading = xcalloc(1, sizeof *reading);

    reading->parts = parts;
    reading->ops = ops != NULL ? ops : &by_path;
    reading->arg = arg;
    reading->running = streams;
    while (reading->threads < streams &&
           pthread_create(&reading->thread[reading->threads], NULL, stream, reading) == 0)
        reading->threads++;
    reading->running -= streams - reading->threads;
    if (reading->threads == 0) {
        reading->running = 1;
        stream(reading);
    }
    return reading;
}

bool warm_read_is_over(const struct warm_reading *reading)
{
    return reading->running == 0;
}

int64_t warm_read_bytes(const struct warm_reading *reading)
{
    return reading->bytes;
}

int warm_read_failed(const struct warm_reading *reading)
{
    return reading->failed;
}

void warm_read_free(struct warm_reading *reading)
{
    if (reading == NULL)
        return;
    while (reading->threads > 0)
        pthread_join(reading->thread[--reading->threads], NULL);
    free(reading);
}

/* --- a thread --------------------------------------------------------------- */

static int open_path(const struct warm_part *part, void *arg)
{
    (void)arg;
    return open(part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void close_path(const struct warm_part *part, int fd, void *arg)
{
    (void)part, (void)arg;
    close(fd);
}

static void ignore(const struct warm_part *part, bool is_whole, void *arg)
{
    (void)part, (void)is_whole, (void)arg;
}

static void *stream(void *arg)
{
    struct warm_reading *reading = arg;
    char                *bytes = xmalloc(WARM_PART_BYTES);
    size_t               i;

    while ((i = reading->next++) < reading->parts->count)
        read_part(reading, &reading->parts->part[i], bytes);
    free(bytes);
    reading->running--;
    return NULL;
}

static void read_part(struct warm_reading *reading, const struct warm_part *part, char *bytes)
{
    int     fd = reading->ops->open(part, reading->arg);
    int64_t at = 0;
    ssize_t got = 1;

    while (fd >= 0 && at < part->length && got > 0) {
        got = pread(fd, bytes, (size_t)(part->length - at), part->offset + at);
        if (got > 0)
            at += got;
    }
    if (fd < 0 || got < 0)
        reading->failed++;
    reading->bytes += at;
    if (fd >= 0)
        reading->ops->close(part, fd, reading->arg);
    reading->ops->read(part, at == part->length, reading->arg);
}
