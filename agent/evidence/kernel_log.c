/* kernel_log.c - see kernel_log.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART_MAX 8192 /* a read of /dev/kmsg fails if the next message does not fit */
#define FACILITIES 8  /* levels of one facility */

static const char *hint_of(int error);
static void keep(struct kernel_log *log, const char *bytes, size_t size);
static void end_line(struct kernel_log *log, kernel_log_f *take, void *arg);
static bool line_read(char *line, struct kernel_message *message);

int kernel_log_open(struct kernel_log *log, const char *path, bool at_end, struct error *err)
{
    log->size = 0;
    log->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (log->fd < 0)
        return err_set(err, "%s: %s%s", path, strerror(errno), hint_of(errno));
    if (at_end)
        kernel_log_skip(log);
    return 0;
}

static const char *hint_of(int error)
{
    if (error == EPERM || error == EACCES)
        return "; root may, or everyone if the sysctl kernel.dmesg_restrict is 0";
    return error == ENOENT ? "; the container of the agent does not have it" : "";
}

void kernel_log_close(struct kernel_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

void kernel_log_skip(struct kernel_log *log)
{
    log->size = 0;
    if (lseek(log->fd, 0, SEEK_END) < 0)
        return; /* then it is no log of a kernel, and has no end */
}

/* The kernel has overwritten messages that were not read yet (EPIPE): the next ones follow. */
bool kernel_log_read(struct kernel_log *log, size_t most, kernel_log_f *take, void *arg)
{
    char    part[PART_MAX];
    size_t  taken = 0;
    ssize_t got;

    while (log->fd >= 0 && taken < most) {
        got = read(log->fd, part, sizeof part);
        if (got == 0 || (got < 0 && errno != EPIPE && errno != EINTR))
            return false;
        if (got > 0)
            kernel_log_feed(log, part, (size_t)got, take, arg);
        taken += got > 0 ? (size_t)got : 1;
    }
    return log->fd >= 0;
}

void kernel_log_feed(struct kernel_log *log, const char *bytes, size_t size, kernel_log_f *take,
                     void *arg)
{
    const char *end;

    while ((end = memchr(bytes, '\n', size)) != NULL) {
        keep(log, bytes, (size_t)(end - bytes));
        end_line(log, take, arg);
        size -= (size_t)(end - bytes) + 1;
        bytes = end + 1;
    }
    keep(log, bytes, size);
}

static void keep(struct kernel_log *log, const char *bytes, size_t size)
{
    size_t room = KERNEL_LINE_MAX - log->size, i;

    for (i = 0; i < size && i < room; i++)
        log->line[log->size++] = (char)(bytes[i] != '\0' ? bytes[i] : '?');
}

static void end_line(struct kernel_log *log, kernel_log_f *take, void *arg)
{
    struct kernel_message message;

    log->line[log->size] = '\0';
    log->size = 0;
    if (line_read(log->line, &message))
        take(&message, arg);
}

/* False: it is not a message of the kernel. */
static bool line_read(char *line, struct kernel_message *message)
{
    char      *at, *end;
    long       prefix;
    const char digits[] = "0123456789";

    if (strspn(line, digits) == 0)
        return false;
    prefix = strtol(line, &at, 10);
    if (*at != ',' || strspn(++at, digits) == 0 || prefix >= FACILITIES)
        return false;
    at += strspn(at, digits);
    if (*at != ',' || strspn(++at, digits) == 0)
        return false;
    message->at_us = (int64_t)strtoll(at, &end, 10);
    message->text = strchr(end, ';');
    if (*end != ',' || message->text == NULL)
        return false;
    message->text++;
    return true;
}
