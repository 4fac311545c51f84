/* state.h - reads, makes and compares the state of a thing on this node
 *
 * A thing is a file, a directory, a tree, a value of /proc/sys, a mount, the size of a tmpfs, an
 * account, or the result of a command. All kinds share these functions, so that journal.c can
 * record a change of any kind before it is made, and revert it.
 *
 * Paths are as the node sees them; root is prepended: "" normally, a directory in tests. A
 * file is written beside its place, synced and renamed, and its directory synced: after a
 * power cut there is the old file or the new one, never a part.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STATE_H
#define MUSTER_AGENT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

#define STATE_BYTES_MAX (8u << 20) /* of one file */

enum state_kind {
    STATE_FILE,
    STATE_DIR,
    STATE_VALUE,   /* a file of /proc or /sys: one line, written in place */
    STATE_MOUNT,   /* bytes: "SOURCE\nFSTYPE\nOPTIONS\nUUID" */
    STATE_SHM,     /* a tmpfs; bytes: its size in bytes, as a number */
    STATE_COMMAND, /* bytes: arguments, each ended by NUL; running them makes this state */
    STATE_ACCOUNT, /* see account.h */
    STATE_TREE,    /* see tree_state.h */
};
#define STATE_KINDS (STATE_TREE + 1)

extern const char *const state_kinds[STATE_KINDS];

struct state {
    bool   exists;
    mode_t mode; /* these three are for FILE and DIR */
    uid_t  uid;
    gid_t  gid;
    char  *bytes; /* ends with a NUL beyond size; NULL: does not exist */
    size_t size;
    double limit_s; /* COMMAND: how long it may run; 0: half an hour. Not in the journal */
};

/* Reads a state, which the caller clears. Returns 0, or -1 with "path: why". A
 * COMMAND is always empty. */
int state_read(const char *root, enum state_kind kind, const char *path, struct state *state,
               struct error *err);
/* Makes the state; it may exist already. -1 with "path: why": a file is then unchanged. */
int state_make(const char *root, enum state_kind kind, const char *path,
               const struct state *want, struct error *err);
/* Removes what an interrupted state_make() has left: a temporary file or tree beside the path, or
 * half an account. */
void state_tidy(const char *root, enum state_kind kind, const char *path);

bool state_is(enum state_kind kind, const struct state *one, const struct state *other);
void state_copy(struct state *to, const struct state *from);
void state_clear(struct state *state);

/* The next two are for files of muster itself: the journal, the receipt. They write atomically,
 * as above. path is complete, root included. */
int  state_write_file(const char *path, const struct state *want, struct error *err);
void state_sync_dir_of(const char *path);

#endif
