/* kernel_log.h - the kernel's log of this node, message by message
 *
 * /dev/kmsg has a line per message, "prefix,sequence,microseconds since boot,flags;text", and
 * below it lines that begin with a blank and name the device. The prefix is a level and eight
 * times a facility (Linux, Documentation/ABI/testing/dev-kmsg). A program that writes into
 * /dev/kmsg, which only root may, cannot take the kernel's own facility, 0: its messages are
 * skipped here.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_KERNEL_LOG_H
#define MUSTER_AGENT_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define KERNEL_LOG_PATH "/dev/kmsg"
#define KERNEL_LINE_MAX 2047 /* bytes of a message; the kernel makes none that is much longer  \
                              */

struct kernel_message {
    int64_t     at_us; /* since boot, without the time that the machine was suspended */
    const char *text;  /* borrowed; any bytes but NUL and line breaks */
};

/* Is called for each message of the kernel; arg is the caller's. */
typedef void kernel_log_f(const struct kernel_message *message, void *arg);

struct kernel_log {
    int    fd;                        /* -1: not open */
    char   line[KERNEL_LINE_MAX + 1]; /* a line that has not ended yet */
    size_t size;                      /* of it */
};

/* Opens a log at its beginning, or at its end. -1 with why it cannot be read, and what would
 * help. */
int  kernel_log_open(struct kernel_log *log, const char *path, bool at_end, struct error *err);
void kernel_log_close(struct kernel_log *log);

/* Forgets what the log has now. */
void kernel_log_skip(struct kernel_log *log);

/* Reads what is there, at most about `most` bytes, without waiting. True: there may be more. */
bool kernel_log_read(struct kernel_log *log, size_t most, kernel_log_f *take, void *arg);

/* Takes bytes of a log, which may end within a line. The end of a line that is longer than
 * KERNEL_LINE_MAX is dropped. */
void kernel_log_feed(struct kernel_log *log, const char *bytes, size_t size, kernel_log_f *take,
                     void *arg);

#endif
