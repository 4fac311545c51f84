/* blob.c - see blob.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/blob.h"

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "xalloc.h"

static struct blob *blob_of(struct blobs *blobs, uint32_t id);

int blobs_take(struct blobs *blobs, const unsigned char *body, size_t size, struct error *err)
{
    struct blob *blob;

    if (size < 4)
        return err_set(err, "BLOB frame of %zu bytes, too short for its number", size);
    size -= 4;
    if (size > BLOB_TOTAL_MAX - blobs->total)
        return err_set(err, "more than %u MiB of arguments and environment", BLOB_TOTAL_MAX >> 20);
    blob = blob_of(blobs, get_u32(body));
    if (blob == NULL)
        return err_set(err, "more than %d blobs", BLOB_COUNT_MAX);
    if (size == 0)
        return 0;
    blob->bytes = xrealloc(blob->bytes, blob->size + size);
    memcpy(blob->bytes + blob->size, body + 4, size);
    blob->size += size;
    blobs->total += size;
    return 0;
}

const struct blob *blobs_find(const struct blobs *blobs, uint32_t id)
{
    size_t i;

    /* From the end: most calls are for the last blob. */
    for (i = blobs->count; i > 0; i--)
        if (blobs->item[i - 1].id == id)
            return &blobs->item[i - 1];
    return NULL;
}

void blobs_clear(struct blobs *blobs)
{
    size_t i;

    for (i = 0; i < blobs->count; i++)
        free(blobs->item[i].bytes);
    free(blobs->item);
    *blobs = (struct blobs){ 0 };
}

static struct blob *blob_of(struct blobs *blobs, uint32_t id)
{
    struct blob *blob = (struct blob *)(uintptr_t)blobs_find(blobs, id);

    if (blob != NULL)
        return blob;
    if (blobs->count == BLOB_COUNT_MAX)
        return NULL;
    if (blobs->count == blobs->room) {
        blobs->room = blobs->room > 0 ? blobs->room * 2 : 32;
        blobs->item = xreallocarray(blobs->item, blobs->room, sizeof *blobs->item);
    }
    blob = &blobs->item[blobs->count++];
    *blob = (struct blob){ .id = id };
    return blob;
}
