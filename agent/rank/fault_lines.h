/* fault_lines.h - finds the stacks of Python's faulthandler in what a rank writes
 *
 *     Thread 0x00007f2f21f5e6c0 (most recent call first):
 *       File "train.py", line 12 in wait
 *
 * faulthandler writes its lines in many small pieces, to a file, or to a stream to which others
 * write at the same time. What does not have the form of its lines is left out. Pure.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FAULT_LINES_H
#define MUSTER_AGENT_FAULT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

#define FAULT_LINES_MAX (32u << 10) /* bytes that are kept */
#define FAULT_LINE_MAX  2048        /* bytes of a line; of a longer one only the end counts */

/* Initialize it as { 0 }. */
struct fault_lines {
    struct buffer text; /* whole lines */
    bool          is_full; /* there were more */
    char          part[FAULT_LINE_MAX]; /* of a line that has not ended */
    size_t        part_size;
    bool          is_cut; /* the part has lost its beginning */
};

void fault_lines_add(struct fault_lines *lines, const char *bytes, size_t size);
void fault_lines_clear(struct fault_lines *lines);

#endif
