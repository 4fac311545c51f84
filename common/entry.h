/* entry.h - a file, directory or link that muster bcast copies
 *
 * A tree is sent as entries, each directory before its contents. In a frame an entry is, all
 * numbers big-endian:
 *
 *     0 type: 'f', 'd', 'l', 'h' | 1..3 zero | 4..7 mode | 8..15 size
 *     16..23 time it was last modified, Unix seconds | 24..27 and nanoseconds
 *     28..29 bytes of the path | 30..31 bytes of the target | path | target
 *
 * Both ends apply the rules about names: the sender reports what it cannot send before it
 * begins, and the receiver does not trust the sender.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENTRY_H
#define MUSTER_ENTRY_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "err.h"

#define ENTRY_HEADER_BYTES 32
#define ENTRY_PATH_MAX     4095 /* Linux's limit */
#define ENTRY_NAME_MAX     255
#define ENTRY_BYTES_MAX    (ENTRY_HEADER_BYTES + 2 * ENTRY_PATH_MAX)

enum entry_type {
    ENTRY_FILE = 'f',
    ENTRY_DIR = 'd',
    ENTRY_LINK = 'l', /* a symbolic link */
    ENTRY_HARD = 'h', /* a hard link: another name of a file that was sent before */
};

struct entry {
    enum entry_type type;
    uint32_t        mode;   /* 07777 */
    uint64_t        size;   /* of a file; of a hard link: the number of that file's entry */
    struct timespec mtime;
    const char     *path;   /* relative, any bytes but NUL */
    const char     *target; /* what a symbolic link contains; "" for others */
};

/* Reads entries one after another, as a frame contains them. entry points into the frame. */
struct entry_reader {
    const unsigned char *at;
    size_t               left;
    char                 path[ENTRY_PATH_MAX + 1], target[ENTRY_PATH_MAX + 1];
};

/* Returns 1 with the next entry in *entry; 0 if there is none; -1 if the sender broke the
 * rules. */
int entry_next(struct entry_reader *reader, struct entry *entry, struct error *err);

/* Writes entry to at, which has room for ENTRY_BYTES_MAX. Returns the number of bytes. */
size_t entry_put(unsigned char *at, const struct entry *entry);

/* Returns why path cannot be the path of an entry, or NULL if it can: it must be relative, with
 * no empty name, "." or "..", and not too long. */
const char *entry_path_fault(const char *path);

/* Returns why the symbolic link path may lead out of the tree, which is the first name of path,
 * or NULL if it cannot: target must be relative, with ".." only before all other names. If all
 * links obey this, no combination of links leaves the tree either. */
const char *entry_link_leaves(const char *path, const char *target);

#endif
