/* typed_lines.h - what was typed at the prompt of muster exec: $XDG_STATE_HOME/muster/exec_history
 *
 * One line each, the oldest first. Only its user may read it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TYPED_LINES_H
#define MUSTER_TYPED_LINES_H

#include <stdbool.h>

#include "strlist.h"

#define TYPED_LINES_MAX      1000
#define TYPED_LINES_BYTES_MAX 4096 /* of a line that is kept */

/* Adds the lines; none if they cannot be read. */
void typed_lines_read(struct strlist *lines);

/* Adds a line, and drops the oldest if there are too many. Failures to write are ignored. False:
 * the line is none to keep: it is empty, too long, or begins with a blank. */
bool typed_lines_keep(const char *line);

#endif
