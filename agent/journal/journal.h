/* journal.h - records the changes of muster bootstrap, so that --undo can revert them
 *
 * /var/lib/muster/bootstrap/journal has a numbered file for each change, on the disk before
 * the change is made: the state before, and the state after it. Undo goes backwards. If the
 * current state is neither, another program has changed it since: undo keeps and reports it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_JOURNAL_H
#define MUSTER_AGENT_JOURNAL_H

#include <stdbool.h>

#include "journal/state.h"

#define JOURNAL_DIR "/var/lib/muster/bootstrap"
#define JOURNAL_MAX 10000 /* entries */

struct journal {
    const char *root; /* borrowed */
    char       *dir;
    int         lock; /* held until the journal is closed: one bootstrap at a time */
    int         last; /* number of the last entry; 0: none */
};

struct journal_entry {
    char           *step, *path;
    enum state_kind kind;
    struct state    before, after;
};

/* Makes the directories and takes the lock. -1 with err, also if
 * another bootstrap is running. */
int  journal_open(struct journal *journal, const char *root, struct error *err);
void journal_close(struct journal *journal);

int  journal_add(struct journal *journal, const struct journal_entry *entry, struct error *err);
/* Reads the entry of that number: 1, or 0 if there is none, or -1 with
 * err. The caller clears it. */
int  journal_read(const struct journal *journal, int number, struct journal_entry *entry,
                  struct error *err);
int  journal_drop(struct journal *journal, int number, struct error *err);

/* Parses an entry from memory; also for tests and fuzzing. bytes end with a NUL
 * that size does not count. */
int  journal_parse(const char *bytes, size_t size, struct journal_entry *entry,
                   struct error *err);
void journal_entry_clear(struct journal_entry *entry);

#endif
