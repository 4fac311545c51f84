/* mount_state.h - a mount, and the size of a tmpfs, as kinds of state: see state.h
 *
 * Reads /proc/self/mountinfo and mounts with mount(2): mount(8) would read fstab.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_MOUNT_STATE_H
#define MUSTER_AGENT_MOUNT_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "journal/state.h"

/* The file system mounted at a place: the last one, which covers those before it. */
struct mounted {
    char     source[256], type[64], options[512]; /* options: of the mount, then the file
                                                     system */
    unsigned major, minor;
};

/* False if nothing is mounted exactly there. mountinfo: its text. */
bool mount_find(const char *mountinfo, const char *path, struct mounted *found);
/* Returns the place where the device is mounted first, caller frees; NULL: not mounted. */
char *mount_of_device(const char *mountinfo, unsigned major, unsigned minor);
/* Returns the text of /proc/self/mountinfo, caller frees. */
char *mount_read_all(void);

int mount_state_read(const char *path, struct state *state, struct error *err);
/* Compares the disks: by UUID, since a disk may have another name after a boot; if that is
 * unknown, by name. Options are not compared: a mount has more of them than were requested. */
bool mount_state_is(const struct state *one, const struct state *other);
int mount_state_make(const char *path, const struct state *want, struct error *err);
int mount_state_read_shm(const char *path, struct state *state, struct error *err);
int mount_state_make_shm(const char *path, const struct state *want, struct error *err);

#endif
