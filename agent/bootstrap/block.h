/* block.h - muster's own lines in a file that others also write
 *
 *     # BEGIN muster: written by muster bootstrap, which replaces these lines
 *     ...
 *     # END muster
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BLOCK_H
#define MUSTER_AGENT_BLOCK_H

#include <stdbool.h>

#include "err.h"

#define BLOCK_BEGIN "# BEGIN muster"
#define BLOCK_END   "# END muster"

/* Returns text with lines as its only block of muster: in the place of the first existing
 * block, else at the end. lines: NULL or "": no block; each line ends with LF. Caller frees.
 * NULL with err if a block has no end, since its extent is unknown then. */
char *block_put(const char *text, const char *lines, struct error *err);

/* Is the line at this position BLOCK_BEGIN or BLOCK_END? */
bool block_is_line(const char *at, const char *mark);

#endif
