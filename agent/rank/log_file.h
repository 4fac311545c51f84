/* log_file.h - what a rank writes, kept in a file on its own node
 *
 * DIR/<stamp>_rank<RANK>.log holds stdout and stderr together in the order in
 * which they were read. The stamp is the launcher's, the same on all nodes.
 *
 * A thread creates, writes and closes it: a file system that stands still holds up
 * nobody else. What is not written yet waits here, up to a bound. At the bound the rank
 * waits for its file, as long as that gets on; when it does not, what comes is left out
 * and counted. So is what a full disk does not take: neither stops a training.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LOG_FILE_H
#define MUSTER_AGENT_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"

#define LOG_FILE_WAITING_MAX (4u << 20) /* bytes; and what was read at once may be beyond it */
#define LOG_FILE_STANDS_S    2          /* without anything written: it stands still */
#define LOG_FILE_CREATE_S    15         /* the same for a file that is not there yet */

struct log_file;

/* Begin to create the file, which must not exist; dir too when it is missing (one level,
 * its parent must be there). After the guard's fork. The event loop calls changed() when
 * any of what the functions below say may have changed. NULL with err: no thread. */
struct log_file *log_file_new(struct event_base *base, const char *dir, const char *stamp,
                              uint32_t rank, void (*changed)(void *arg), void *arg,
                              struct error *err);

/* 1: it is there; 0: not yet; -1 with err: it cannot be had. */
int log_file_created(struct log_file *log, struct error *err);

/* Append a copy of all bytes. */
void log_file_add(struct log_file *log, struct evbuffer *bytes);
/* Add no more now. */
bool log_file_is_full(const struct log_file *log);

/* No more comes: write what waits and close; remove it when it is not wanted. */
void log_file_end(struct log_file *log, bool is_wanted);
/* Done; or it could not be created, when nothing is to be waited for either. */
bool log_file_is_over(struct log_file *log);

/* Bytes that are not in the file as far as we know, now. */
uint64_t log_file_lost(struct log_file *log);
/* Why: errno of the first that was not written, or of closing it, when some file servers say
 * that they had no room; 0: nothing of that kind. */
int log_file_error(struct log_file *log);
/* Its path when the end of what it was given may not have reached the disk, since it is
 * still being written; else NULL. Borrowed. */
const char *log_file_unsure(struct log_file *log);

/* False when its thread still writes, or hangs: it keeps what it works on, and the
 * process's descriptors stay open behind an exit() until it is done. */
bool log_file_free(struct log_file *log);

#endif
