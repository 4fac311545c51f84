/* event_file.c - see event_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/event_file.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/crc32c.h"
#include "report/event.pb-c.h"
#include "xalloc.h"

struct event_file {
    FILE *stream;
    char *path;
};

static char    *new_path(const char *dir);
static double   now_s(void);
static int      write_event(struct event_file *file, const Tensorboard__Event *event,
                            struct error *err);
static uint32_t masked_crc(const void *bytes, size_t size);

bool event_file_is_built(void)
{
    return true;
}

struct event_file *event_file_open(const char *dir, struct error *err)
{
    struct event_file *file = xcalloc(1, sizeof *file);
    Tensorboard__Event event = TENSORBOARD__EVENT__INIT;

    event.wall_time = now_s();
    event.what_case = TENSORBOARD__EVENT__WHAT_FILE_VERSION;
    event.file_version = (char *)"brain.Event:2";
    file->path = new_path(dir);
    file->stream = fopen(file->path, "wxe");
    if (file->stream == NULL)
        err_set(err, "%s: %s", file->path, strerror(errno));
    if (file->stream != NULL && write_event(file, &event, err) == 0)
        return file;
    event_file_close(file);
    return NULL;
}

/* TensorBoard reads files with "tfevents" in their names, in the order of their names. */
static char *new_path(const char *dir)
{
    char host[65] = "host";

    gethostname(host, sizeof host - 1);
    return xasprintf("%s/events.out.tfevents.%010lld.%s.%ld", dir, (long long)time(NULL), host,
                     (long)getpid());
}

void event_file_close(struct event_file *file)
{
    if (file == NULL)
        return;
    if (file->stream != NULL)
        fclose(file->stream);
    free(file->path);
    free(file);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int event_file_write(struct event_file *file, int64_t step, const struct scalar *scalars,
                     size_t count, struct error *err)
{
    Tensorboard__Summary__Value  *values = xcalloc(count, sizeof *values);
    Tensorboard__Summary__Value **list = xcalloc(count, sizeof *list);
    Tensorboard__Summary          summary = TENSORBOARD__SUMMARY__INIT;
    Tensorboard__Event            event = TENSORBOARD__EVENT__INIT;
    size_t                        i;
    int                           rc;

    for (i = 0; i < count; i++) {
        tensorboard__summary__value__init(&values[i]);
        values[i].tag = (char *)scalars[i].tag;
        values[i].value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
        values[i].simple_value = (float)scalars[i].value;
        list[i] = &values[i];
    }
    summary.n_value = count;
    summary.value = list;
    event.wall_time = now_s();
    event.step = step;
    event.what_case = TENSORBOARD__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    rc = write_event(file, &event, err);
    free(list);
    free(values);
    return rc;
}

static int write_event(struct event_file *file, const Tensorboard__Event *event,
                       struct error *err)
{
    const size_t   size = tensorboard__event__get_packed_size(event);
    const uint64_t length = htole64(size);
    const uint32_t length_crc = masked_crc(&length, sizeof length);
    uint8_t       *bytes = xcalloc(size, 1);
    uint32_t       bytes_crc;
    int            rc = 0;

    tensorboard__event__pack(event, bytes);
    bytes_crc = masked_crc(bytes, size);
    if (fwrite(&length, sizeof length, 1, file->stream) != 1 ||
        fwrite(&length_crc, sizeof length_crc, 1, file->stream) != 1 ||
        fwrite(bytes, 1, size, file->stream) != size ||
        fwrite(&bytes_crc, sizeof bytes_crc, 1, file->stream) != 1 ||
        fflush(file->stream) != 0)
        rc = err_set(err, "%s: %s", file->path, strerror(errno));
    free(bytes);
    return rc;
}

/* TFRecord's masked checksum: the rotation keeps a checksum over bytes that include their own
 * checksum from being constant. */
static uint32_t masked_crc(const void *bytes, size_t size)
{
    const uint32_t crc = crc32c(0, bytes, size);

    return htole32((crc >> 15 | crc << 17) + UINT32_C(0xa282ead8));
}
