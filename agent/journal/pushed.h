/* pushed.h - the files that muster bootstrap has copied to a directory, and whether others have
 * changed them
 *
 * The directory has the list of them in PUSHED_RECORD, as entries (entry.h), whose paths begin with
 * the name of the directory. A file may be there twice: while a copy is under way, the old one or
 * the new one is there. Like muster bcast, we compare size and time.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PUSHED_H
#define MUSTER_AGENT_PUSHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "buffer.h"
#include "err.h"

#define PUSHED_RECORD     ".muster-pushed"
#define PUSHED_RECORD_MAX (64u << 20)

struct pushed_file {
    char           *path, *target; /* path: below the directory; target: of a link, else "" */
    char            type;          /* as in entry.h */
    uint64_t        size;
    struct timespec mtime;
};

/* Files and links, sorted by path. */
struct pushed {
    struct pushed_file *item;
    size_t              count;
};

/* Reads a list of entries; the caller clears it. -1 with err: it is malformed. */
int  pushed_parse(const void *bytes, size_t size, struct pushed *pushed, struct error *err);
/* Reads the list that the directory has. 1; 0: it has none; -1 with err. */
int  pushed_read(const char *directory, struct pushed *pushed, struct error *err);
void pushed_clear(struct pushed *pushed);
/* Appends the file as an entry. */
void pushed_put(const struct pushed_file *file, struct buffer *into);

/* Is what is in the directory at this path one of the list? is_there: is anything? */
bool pushed_matches(const struct pushed *pushed, const char *directory, const char *path,
                    bool *is_there);

/* Returns 0: all files in the directory are those of its list, or Python has made them; 1: there is
 * no list. -1 with err, which names one of others. */
int pushed_check(const char *directory, struct error *err);

#endif
