/* event_log.h - events.log in the directory of a run: what the program of --on-event prints
 *
 * Each line has the time and the event before it, and is safe to print. The file has at most
 * EVENT_LOG_MAX bytes; what comes later is dropped. A thread writes it: neither a full disk nor a
 * home directory that hangs may hold up the run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENT_LOG_H
#define MUSTER_EVENT_LOG_H

#include <stddef.h>

#define EVENT_LOG_MAX  (1 << 20)
#define EVENT_LOG_NAME "events.log"

struct event_log;

/* Opens the file, which a resumed run continues. dir_fd: the directory of the run; -1: there is
 * none, and all text is dropped. If it cannot be opened, the user reads why. */
struct event_log *event_log_new(int dir_fd);
/* Gives the last lines a moment. NULL is fine. */
void event_log_free(struct event_log *log);

/* Adds bytes that the program has printed for that event. A line waits for its end, unless it is
 * long already. */
void event_log_add(struct event_log *log, const char *event, const char *bytes, size_t size);

/* The program has ended, as why says (NULL: well). Returns the last line that it has printed for
 * this event, cut and safe to print, or ""; valid until the next call. */
const char *event_log_end(struct event_log *log, const char *event, const char *why);

#endif
