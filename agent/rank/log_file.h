/* log_file.h - the output of a rank, in a file on its own node
 *
 * DIR/<stamp>_rank<RANK>.log holds stdout and stderr together, in the order in which they were
 * read. The stamp is the launcher's, the same on all nodes.
 *
 * A thread creates, writes and closes the file, so a file system that hangs delays nothing
 * else. Bytes that are not written yet wait here, up to a limit. At the limit the rank waits
 * for its file as long as the file makes progress; without progress, further output is dropped
 * and counted. Output that a full disk refuses is counted, too. Neither stops a training.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LOG_FILE_H
#define MUSTER_AGENT_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"

#define LOG_FILE_WAITING_MAX (4u << 20) /* bytes; one read may exceed it */
#define LOG_FILE_STANDS_S    2          /* without progress for this long, the file hangs */
#define LOG_FILE_CREATE_S    15         /* the same limit for creating the file */

struct log_file;

/* Begins to create the file, which must not exist, and dir if it is missing (one level: its
 * parent must exist). Call it after the guard's fork. The event loop calls changed() when any
 * result of the functions below may have changed. NULL with err: no thread. */
struct log_file *log_file_new(struct event_base *base, const char *dir, const char *stamp,
                              uint32_t rank, void (*changed)(void *arg), void *arg,
                              struct error *err);

/* 1: the file exists; 0: not yet; -1 with err: it cannot be created. */
int log_file_created(struct log_file *log, struct error *err);

/* Appends a copy of all bytes. */
void log_file_add(struct log_file *log, struct evbuffer *bytes);
/* True: do not add more now. */
bool log_file_is_full(const struct log_file *log);

/* Ends the output: writes the rest and closes the file; removes it if it is not wanted. */
void log_file_end(struct log_file *log, bool is_wanted);
/* True if log_file_end() is complete, or the file could not be created. */
bool log_file_is_over(struct log_file *log);

/* Returns the bytes that are not in the file, as far as we know. */
uint64_t log_file_lost(struct log_file *log);
/* Returns errno of the first failed write, or of close(): some file servers report only then
 * that they had no space; 0: no error. */
int log_file_error(struct log_file *log);
/* Returns the path if the last bytes may not be on the disk because the file is still being
 * written; else NULL. Borrowed. */
const char *log_file_unsure(struct log_file *log);

/* False if the thread is still writing, or hangs. Then the thread keeps what it needs, and
 * after exit() the process's descriptors stay open until the thread is done. */
bool log_file_free(struct log_file *log);

#endif
