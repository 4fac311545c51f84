/* arriving.h - a chunk that comes in parts: FILE, then DATA frames
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ARRIVING_H
#define MUSTER_ARRIVING_H

#include <stdbool.h>
#include <stddef.h>

#include "copy/chunk.h"
#include "copy/bcast_receive.h"
#include "err.h"

/* Start from { 0 }. */
struct arriving {
    struct chunk   chunk;
    size_t         size; /* 0: no chunk is arriving */
    size_t         came;
    bool           is_ignored; /* its file was given up, and its size is unknown */
    unsigned char *bytes;      /* CHUNK_BYTES; NULL: no byte has come yet */
};

/* Take the body of FILE, and of DATA. When a chunk is complete, receiver gets it. Return -1
 * with err if the sender breaks the rules. */
int  arriving_begin(struct arriving *arriving, const struct bcast_receive *receiver,
                    const unsigned char *body, size_t size, struct error *err);
int  arriving_take(struct arriving *arriving, struct bcast_receive *receiver,
                   const unsigned char *body, size_t size, struct error *err);
void arriving_clear(struct arriving *arriving);

#endif
