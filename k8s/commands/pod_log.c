/* pod_log.c - see pod_log.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/pod_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

#define STAMP_BYTES 40
#define PAUSE_S     1
#define ERROR_BYTES 300

struct pod_log {
    const struct place *place;
    char               *path;
    bool                follow;
    int64_t             tail;
    struct api_stream  *stream;
    bool                is_over;   /* the stream has ended */
    bool                had_ended; /* the container had, when the stream was opened */
    char                last[STAMP_BYTES]; /* stamp of the last line; fixed width for strncmp */
    char                error[ERROR_BYTES];
    int64_t             not_before_ns;
};

static void take_line(void *arg, const char *line, size_t size);
static void take_end(void *arg, int status, const char *says);

static const struct api_stream_ops ops = { .line = take_line, .end = take_end };

struct pod_log *pod_log_open(const struct place *place, const char *pod, const char *container,
                             bool follow, int64_t tail)
{
    struct pod_log *log = xcalloc(1, sizeof *log);
    char           *path = place_path(place, KIND_POD, pod);

    *log = (struct pod_log){ .place = place, .follow = follow, .tail = tail };
    log->path = xasprintf("%s/log?container=%s&timestamps=true%s", path, container,
                          follow ? "&follow=true" : "");
    free(path);
    return log;
}

void pod_log_close(struct pod_log *log)
{
    if (log == NULL)
        return;
    api_stream_close(log->stream);
    free(log->path);
    free(log);
}

bool pod_log_step(struct pod_log *log, bool has_ended)
{
    char *path, since[POD_LOG_SINCE];

    if (log->stream != NULL && !log->is_over)
        return false;
    if (log->stream != NULL) {
        api_stream_close(log->stream);
        log->stream = NULL;
        log->not_before_ns = clock_now_ns() + PAUSE_S * NS_PER_S;
        if (!log->follow || log->had_ended)
            return true;
    }
    /* Once the container has ended, do not pause. */
    if (clock_now_ns() < log->not_before_ns && !has_ended)
        return false;
    log->error[0] = '\0';
    log->is_over = false;
    log->had_ended = has_ended;
    if (log->last[0] != '\0') {
        pod_log_since(log->last, since);
        path = xasprintf("%s&sinceTime=%s", log->path, since);
    } else if (log->tail >= 0)
        path = xasprintf("%s&tailLines=%" PRId64, log->path, log->tail);
    else
        path = xstrdup(log->path);
    log->stream = api_stream_open(log->place->api, path, &ops, log);
    free(path);
    return false;
}

const char *pod_log_error(const struct pod_log *log)
{
    return log->error[0] != '\0' ? log->error : NULL;
}

void pod_log_since(const char *stamp, char *since)
{
    const char *zone = stamp + strcspn(stamp, ".");

    zone += strcspn(zone, "Z+-");
    snprintf(since, POD_LOG_SINCE, "%.19s%s%.6s", stamp, *zone == '+' ? "%2B" : "",
             *zone == '+' ? zone + 1 : zone);
}

/* "2026-11-22T15:00:00.000000000Z text", or with +01:00 if that is the node's time zone */
static void take_line(void *arg, const char *line, size_t size)
{
    struct pod_log *log = arg;
    const char     *blank = memchr(line, ' ', size);
    size_t          stamp = blank != NULL ? (size_t)(blank - line) : size;

    if (stamp >= 20 && stamp < STAMP_BYTES && line[4] == '-' && line[10] == 'T') {
        /* After a resumption, the lines of that second arrive again. */
        if (log->last[0] != '\0' && strncmp(line, log->last, stamp) <= 0 &&
            strlen(log->last) == stamp)
            return;
        memcpy(log->last, line, stamp);
        log->last[stamp] = '\0';
        if (stamp < size)
            stamp++;
        line += stamp;
        size -= stamp;
    }
    fwrite(line, 1, size, stdout);
    putchar('\n');
    fflush(stdout);
}

static void take_end(void *arg, int status, const char *says)
{
    struct pod_log *log = arg;
    json_t         *reply = json_loads(says, 0, NULL);
    const char     *message = json_string_value(json_object_get(reply, "message"));
    struct error    harmless;

    log->is_over = true;
    if (status != 200) {
        err_set(&harmless, "%s", message != NULL ? message : says);
        snprintf(log->error, sizeof log->error, "%.299s", harmless.text);
    }
    json_decref(reply);
}
