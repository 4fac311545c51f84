/* fold.h - identical output of many nodes shown once, as `clush -b` and `dshbak -c` do
 *
 *     ---------------
 *     node[01-16,20] (17)
 *     ---------------
 *     what all of them said
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FOLD_H
#define MUSTER_FOLD_H

#include <stddef.h>

#include "buffer.h"

struct fold_item {
    const char *host;
    const char *bytes; /* all output of the host; if empty, the host is not shown */
    size_t      size;
};

/* Appends the folded text to out, groups in the order of their first item. Ends the last line
 * of a group if the host did not. */
void fold_write(const struct fold_item *items, size_t count, struct buffer *out);

#endif
