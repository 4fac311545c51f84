/* tail.h - the last lines of a rank, for the report of its failure
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TAIL_H
#define MUSTER_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "strlist.h"

#define TAIL_BYTES ((size_t)8 * 1024) /* kept of a rank */

/* Start from { 0 }. */
struct tail {
    struct buffer kept; /* up to twice TAIL_BYTES, so that it is seldom moved */
    bool          is_stderr;
    bool          is_cut; /* kept begins in the middle of a line */
};

/* Keeps stdout only until something comes on stderr. */
void tail_add(struct tail *tail, bool is_stderr, const char *bytes, size_t size);

/* Add the last lines, at most so many, safe to print, newest last. Progress bars
 * that were drawn over are left out. */
void tail_lines(const struct tail *tail, size_t count, struct strlist *lines);
void tail_clear(struct tail *tail);

#endif
