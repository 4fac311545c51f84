/* changes.h - collects the changes of a step, and makes them
 *
 * The functions that add a change look first: they add nothing if the
 * node is already as wanted.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CHANGES_H
#define MUSTER_AGENT_CHANGES_H

#include "journal/journal.h"
#include "journal/state.h"
#include "strlist.h"

struct change {
    enum state_kind kind;
    char           *path;
    struct state    want;
    struct state    back; /* COMMAND: its undo command; may be empty */
    char           *what, *why;
};

struct changes {
    const char    *root; /* borrowed */
    struct change *item;
    size_t         count;
};

/* Adds a file with this text. Owner and mode stay; a new file belongs to root, or to owner_uid,
 * with mode. text NULL: no file. what and why are for people; why is copied. -1 with err if the
 * path cannot be examined. */
int changes_add_file(struct changes *changes, const char *path, const char *text, mode_t mode,
                     const char *why, struct error *err);
/* Adds a file or directory in exactly the state want, which is borrowed. */
int changes_add(struct changes *changes, enum state_kind kind, const char *path,
                const struct state *want, const char *what, const char *why, struct error *err);
/* The same, also if it is in that state now, since a command before it changes that. */
void changes_add_again(struct changes *changes, enum state_kind kind, const char *path,
                       const struct state *want, const char *what, const char *why);
/* Adds the missing directories of the path, owned by root. */
int changes_add_dirs(struct changes *changes, const char *path, struct error *err);
/* Adds a line of /proc or /sys. */
int changes_add_value(struct changes *changes, const char *path, const char *value,
                      const char *why, struct error *err);
/* Adds a command. back: may be NULL. name: for the journal. The step has found that
 * the command is necessary. */
void changes_add_command(struct changes *changes, const char *name, const struct strlist *argv,
                         const struct strlist *back, const char *what, const char *why);
/* Adds what the step makes afterwards: people see it, and changes_make() passes over it. */
void changes_add_later(struct changes *changes, const char *name, const char *what,
                       const char *why);
void changes_clear(struct changes *changes);

/* Records each change in the journal, then makes it. Stops at the first failure. */
int changes_make(const struct changes *changes, const char *step, struct journal *journal,
                 struct error *err);

#endif
