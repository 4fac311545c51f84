/* changes.h - what a step would change, and making it so
 *
 * The functions that add look first: what is so already is not added.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CHANGES_H
#define MUSTER_AGENT_CHANGES_H

#include "bootstrap/journal.h"
#include "bootstrap/state.h"
#include "strlist.h"

struct change {
    enum state_kind kind;
    char           *path;
    struct state    want;
    struct state    back; /* COMMAND: what takes it back; may be empty */
    char           *what, *why;
};

struct changes {
    const char    *root; /* borrowed */
    struct change *item;
    size_t         count;
};

/* A file with this text. Owner and mode stay; a new file is of root, or of owner_uid, with mode.
 * text NULL: no file. what and why are for people; why is copied. -1 with err if the path cannot
 * be looked at. */
int changes_add_file(struct changes *changes, const char *path, const char *text, mode_t mode,
                     const char *why, struct error *err);
/* A file or directory exactly so; want is borrowed. */
int changes_add(struct changes *changes, enum state_kind kind, const char *path,
                const struct state *want, const char *what, const char *why, struct error *err);
/* Those of the path that are missing, as root's. */
int changes_add_dirs(struct changes *changes, const char *path, struct error *err);
/* A line of /proc or /sys. */
int changes_add_value(struct changes *changes, const char *path, const char *value,
                      const char *why, struct error *err);
/* back: may be NULL. name: for the journal. The step has found that it is necessary. */
void changes_add_command(struct changes *changes, const char *name, const struct strlist *argv,
                         const struct strlist *back, const char *what, const char *why);
void changes_clear(struct changes *changes);

/* Record each in the journal, then make it. Stops at the first that fails. */
int changes_make(const struct changes *changes, const char *step, struct journal *journal,
                 struct error *err);

#endif
