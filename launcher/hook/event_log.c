/* event_log.c - see event_log.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hook/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "log.h"
#include "output/writer.h"
#include "sanitize.h"
#include "xalloc.h"

#define LINE_MAX_BYTES 1000 /* of a line; a longer one is split */
#define LAST_SIZE      300  /* of the line that a message repeats */
#define TIME_SIZE      32
#define END_S          2.0  /* for the last lines, if the disk hangs */
#define FULL           "this file is full: what comes later is not in it\n"

struct event_log {
    int            fd; /* -1: none */
    struct writer *writer;
    size_t         room; /* bytes that may still be written */
    struct buffer  line; /* that has not ended yet */
    char           last[LAST_SIZE];  /* its last line for this event; "": none */
    char           ended[LAST_SIZE]; /* the same, for the caller of event_log_end() */
};

static void add_line(struct event_log *log, const char *event);
static void write_line(struct event_log *log, const char *event, const char *text, size_t size);
static void no_bytes(size_t node, size_t bytes, void *arg);
static void failed(bool is_stderr, int error, void *arg);

struct event_log *event_log_new(int dir_fd)
{
    static const struct writer_ops ops = { .done = no_bytes, .failed = failed };
    struct event_log              *log = xcalloc(1, sizeof *log);
    struct stat                    about;
    int                            fd[2];

    log->fd = -1;
    if (dir_fd < 0)
        return log;
    log->fd = openat(dir_fd, EVENT_LOG_NAME,
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (log->fd < 0 || fstat(log->fd, &about) < 0 || !S_ISREG(about.st_mode)) {
        log_warn("what the program of --on-event prints is not written to %s: %s", EVENT_LOG_NAME,
                 log->fd < 0 ? strerror(errno) : "is not a file");
        if (log->fd >= 0)
            close(log->fd);
        log->fd = -1;
        return log;
    }
    if (about.st_size < EVENT_LOG_MAX)
        log->room = EVENT_LOG_MAX - (size_t)about.st_size;
    fd[0] = fd[1] = log->fd;
    log->writer = writer_new(fd, false, &ops, NULL);
    return log;
}

static void no_bytes(size_t node, size_t bytes, void *arg)
{
    (void)node, (void)bytes, (void)arg;
}

static void failed(bool is_stderr, int error, void *arg)
{
    (void)is_stderr, (void)error, (void)arg;
}

void event_log_free(struct event_log *log)
{
    if (log == NULL)
        return;
    if (log->writer != NULL)
        writer_finish(log->writer, END_S);
    writer_free(log->writer);
    if (log->fd >= 0)
        close(log->fd);
    buffer_clear(&log->line);
    free(log);
}

void event_log_add(struct event_log *log, const char *event, const char *bytes, size_t size)
{
    const char *end;
    size_t      part;

    for (; size > 0; bytes += part, size -= part) {
        end = memchr(bytes, '\n', size);
        part = end != NULL ? (size_t)(end - bytes) : size;
        if (part > LINE_MAX_BYTES - log->line.size)
            part = LINE_MAX_BYTES - log->line.size;
        buffer_add(&log->line, bytes, part);
        if (bytes + part == end)
            part++; /* the newline */
        else if (log->line.size < LINE_MAX_BYTES)
            return;
        add_line(log, event);
    }
}

static void add_line(struct event_log *log, const char *event)
{
    sanitize_tail(log->line.bytes, log->line.size, log->last, sizeof log->last);
    write_line(log, event, log->line.bytes, log->line.size);
    log->line.size = 0;
}

const char *event_log_end(struct event_log *log, const char *event, const char *why)
{
    if (log->line.size > 0)
        add_line(log, event);
    if (why != NULL)
        write_line(log, event, why, strlen(why));
    snprintf(log->ended, sizeof log->ended, "%s", log->last);
    log->last[0] = '\0';
    return log->ended;
}

static void write_line(struct event_log *log, const char *event, const char *text, size_t size)
{
    struct buffer line = { 0 };
    time_t        now = time(NULL);
    char          head[TIME_SIZE];
    struct tm     utc;

    if (log->room == 0)
        return;
    if (gmtime_r(&now, &utc) == NULL || strftime(head, sizeof head, "%FT%TZ ", &utc) == 0)
        head[0] = '\0';
    buffer_add_text(&line, head);
    buffer_add_text(&line, event);
    buffer_add_text(&line, ": ");
    sanitize_add(&line, text, size, SANITIZE_ALL);
    buffer_add_text(&line, "\n");
    if (line.size + sizeof FULL > log->room) {
        if (log->room >= sizeof FULL) /* else an earlier muster has written it */
            writer_own(log->writer, FULL, sizeof FULL - 1);
        log->room = 0;
    } else {
        writer_own(log->writer, line.bytes, line.size);
        log->room -= line.size;
    }
    buffer_clear(&line);
}
