/* journal.h - what muster bootstrap has changed here, so that --undo can take it back
 *
 * /var/lib/muster/bootstrap/journal has a file for each change, numbered, and on the disk before
 * the change is made: how the thing was, and how it was to become. Undo goes backwards. If a thing
 * is neither, somebody else has changed it since: it is left alone, and reported.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_JOURNAL_H
#define MUSTER_AGENT_JOURNAL_H

#include <stdbool.h>

#include "bootstrap/state.h"

#define JOURNAL_DIR "/var/lib/muster/bootstrap"
#define JOURNAL_MAX 10000 /* entries */

struct journal {
    const char *root; /* borrowed */
    char       *dir;
    int         lock; /* held until it is closed: one bootstrap at a time */
    int         last; /* number of the last entry; 0: none */
};

struct journal_entry {
    char           *step, *path;
    enum state_kind kind;
    struct state    before, after;
};

/* Make the directories, take the lock. -1 with err, also if another bootstrap is running. */
int  journal_open(struct journal *journal, const char *root, struct error *err);
void journal_close(struct journal *journal);

int  journal_add(struct journal *journal, const struct journal_entry *entry, struct error *err);
/* The entry of that number; 1, or 0 if there is none, or -1 with err. The caller clears it. */
int  journal_read(const struct journal *journal, int number, struct journal_entry *entry,
                  struct error *err);
int  journal_drop(struct journal *journal, int number, struct error *err);

/* The same from memory, for tests and fuzzing. bytes end with a NUL that size does not count. */
int  journal_parse(const char *bytes, size_t size, struct journal_entry *entry,
                   struct error *err);
void journal_entry_clear(struct journal_entry *entry);

#endif
