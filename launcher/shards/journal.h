/* journal.h - a file of lines in the run directory, written by a thread of its own
 *
 * journal_add() takes a few bytes and returns at once; the thread appends them to the file,
 * usually within a millisecond, so that a home directory that hangs does not hold up the run.
 * journal_replace() replaces the file by rename(2): a reader sees the old one or the new one.
 * Bytes that were added before a replacement and are not yet written are dropped, since the new
 * text contains them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JOURNAL_H
#define MUSTER_JOURNAL_H

#include <stddef.h>

struct journal;

/* Makes a journal in the directory dir_fd, which is duplicated. NULL: no thread can be
 * started. */
struct journal *journal_new(int dir_fd, const char *name);

void journal_add(struct journal *journal, const char *text, size_t size);
void journal_replace(struct journal *journal, const char *text, size_t size);

/* Waits until everything added or replaced is in the file, for at most this many seconds. -1:
 * it is not. */
int journal_wait(struct journal *journal, int seconds);

/* Returns the size of the file once everything is written. */
size_t journal_size(const struct journal *journal);

/* Returns an errno, once per failure, and 0 otherwise. After a failure nothing is written
 * until the next journal_replace(). */
int journal_failure(struct journal *journal);

/* Writes the rest and ends the thread, within this many seconds. -1: not all was written. */
int journal_close(struct journal *journal, int seconds);

#endif
