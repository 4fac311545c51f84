/* tail.h - the last lines of a rank, for the report of its failure
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TAIL_H
#define MUSTER_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "strlist.h"

#define TAIL_BYTES ((size_t)8 * 1024) /* per rank */

/* Start from { 0 }. */
struct tail {
    struct buffer text; /* up to twice TAIL_BYTES, so that it rarely has to be moved */
    bool          is_stderr;
    bool          is_cut; /* text begins in the middle of a line */
};

/* Adds output. Once stderr has output, stdout is dropped. */
void tail_add(struct tail *tail, bool is_stderr, const char *bytes, size_t size);

/* Adds the last lines, at most count, safe to print, newest last. Leaves out progress bars that
 * were overwritten. */
void tail_lines(const struct tail *tail, size_t count, struct strlist *lines);
void tail_clear(struct tail *tail);

#endif
