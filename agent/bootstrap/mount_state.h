/* mount_state.h - a mount, and the size of a tmpfs, as things: see state.h
 *
 * Read from /proc/self/mountinfo, made with mount(2): mount(8) would read fstab.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_MOUNT_STATE_H
#define MUSTER_AGENT_MOUNT_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "bootstrap/state.h"

/* What is mounted at a place: the last one, which covers those before it. */
struct mounted {
    char     source[256], type[64], options[512]; /* options: of this mount, then of the disk */
    unsigned major, minor;
};

/* False if nothing is mounted right there. mountinfo: its text. */
bool mount_find(const char *mountinfo, const char *path, struct mounted *found);
/* Where the device is mounted first, caller frees; NULL: nowhere. */
char *mount_of_device(const char *mountinfo, unsigned major, unsigned minor);
/* The text of /proc/self/mountinfo, caller frees. */
char *mount_read_all(void);

int mount_state_read(const char *path, struct state *state, struct error *err);
/* Of the same disk: by its UUID, since a disk may have another name after a boot; if that is not
 * known, by its name. It has more options than it was given. */
bool mount_state_is(const struct state *one, const struct state *other);
int mount_state_make(const char *path, const struct state *want, struct error *err);
int mount_state_read_shm(const char *path, struct state *state, struct error *err);
int mount_state_make_shm(const char *path, const struct state *want, struct error *err);

#endif
