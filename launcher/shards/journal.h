/* journal.h - a file of lines in the run directory, written by a thread of its own
 *
 * journal_add() takes a few bytes and returns at once; the thread appends them to the file, usually
 * within a millisecond, so that a home that hangs does not hold up the run. journal_replace() puts
 * another file in its place by rename(2): a reader sees the old one or the new one. What was added
 * before a replacement and is not written yet is not written any more: the new text has it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOURNAL_H
#define MUSTER_JOURNAL_H

#include <stddef.h>

struct journal;

/* In the directory dir_fd, which is duplicated. NULL if there can be no thread. */
struct journal *journal_new(int dir_fd, const char *name);

void journal_add(struct journal *journal, const char *text, size_t size);
void journal_replace(struct journal *journal, const char *text, size_t size);

/* Wait until all that was added or put there is in the file, for that many seconds at most. -1: it
 * is not. */
int journal_wait(struct journal *journal, int seconds);

/* Bytes of the file, once all is written. */
size_t journal_size(const struct journal *journal);

/* An errno once for each failure, and 0 otherwise. After one nothing is written before the next
 * journal_replace(). */
int journal_failure(struct journal *journal);

/* Write what is left and end, within that many seconds. -1: not all was written. */
int journal_close(struct journal *journal, int seconds);

#endif
