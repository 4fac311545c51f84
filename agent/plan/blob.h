/* blob.h - bytes that the launcher sends before the plan
 *
 * Arguments, environments and paths may contain any byte except NUL, so they cannot be JSON
 * text. They arrive in BLOB frames, and the plan refers to them by number.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BLOB_H
#define MUSTER_AGENT_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define BLOB_TOTAL_MAX (64u << 20) /* bytes of all blobs of a node */
#define BLOB_COUNT_MAX 16384       /* their number: two per rank and a few more */

struct blob {
    uint32_t id;
    char    *bytes;
    size_t   size;
};

struct blobs {
    struct blob *item;
    size_t       count, room;
    size_t       total;
};

/* Appends the body of a BLOB frame to its blob. */
int  blobs_take(struct blobs *blobs, const unsigned char *body, size_t size, struct error *err);
/* NULL if no blob has that number. */
const struct blob *blobs_find(const struct blobs *blobs, uint32_t id);
void blobs_clear(struct blobs *blobs);

#endif
