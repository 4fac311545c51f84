/* state.h - how a thing of this node is, and making it so
 *
 * A thing is a file, a directory, a value of /proc/sys, a mount, the size of a tmpfs, or what a
 * command makes. All of them are read, made and compared alike, so that journal.c can record a
 * change of any kind before it is made, and take it back.
 *
 * Paths are as the node sees them; root is put in front: "" in life, a directory in tests. A file
 * is written beside its place, synced and renamed, and its directory synced: after a power cut
 * there is the old one or the new one, never a part.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STATE_H
#define MUSTER_AGENT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

#define STATE_BYTES_MAX (8u << 20) /* of a file */

enum state_kind {
    STATE_FILE,
    STATE_DIR,
    STATE_VALUE,   /* a file of /proc or /sys: one line, written in place */
    STATE_MOUNT,   /* bytes: "SOURCE\nFSTYPE\nOPTIONS\nUUID" */
    STATE_SHM,     /* a tmpfs; bytes: its size in bytes, as a number */
    STATE_COMMAND, /* bytes: arguments, each ended by NUL; it is run to reach this state */
};
#define STATE_KINDS (STATE_COMMAND + 1)

extern const char *const state_kinds[STATE_KINDS];

struct state {
    bool   exists;
    mode_t mode; /* FILE and DIR have these three */
    uid_t  uid;
    gid_t  gid;
    char  *bytes; /* ended by a NUL that size does not count; NULL if it does not exist */
    size_t size;
};

/* 0 with state, which the caller clears; -1 with "path: why". A COMMAND is always empty. */
int state_read(const char *root, enum state_kind kind, const char *path, struct state *state,
               struct error *err);
/* Make it so. What is so already may be made again. -1 with "path: why": a file is then as it
 * was. */
int state_make(const char *root, enum state_kind kind, const char *path,
               const struct state *want, struct error *err);
/* Remove what a state_make() that was cut short has left beside the path. */
void state_tidy(const char *root, enum state_kind kind, const char *path);

bool state_is(enum state_kind kind, const struct state *one, const struct state *other);
void state_copy(struct state *to, const struct state *from);
void state_clear(struct state *state);

/* The next two are for files that are no things: the journal, the receipt. Write atomically, as
 * above. path is whole, root included. */
int  state_write_file(const char *path, const struct state *want, struct error *err);
void state_sync_dir_of(const char *path);

#endif
