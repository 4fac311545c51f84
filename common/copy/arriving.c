/* arriving.c - see arriving.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/arriving.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* The receiver no longer knows the size of a file that it has given up. */
int arriving_begin(struct arriving *arriving, const struct bcast_receive *receiver,
                   const unsigned char *body, size_t size, struct error *err)
{
    if (size != CHUNK_ID_BYTES)
        return err_set(err, "FILE frame of %zu bytes", size);
    if (arriving->size > 0)
        return err_set(err, "FILE frame before the end of the previous chunk");
    arriving->chunk = chunk_get(body);
    arriving->size = bcast_receive_chunk_size(receiver, arriving->chunk);
    arriving->came = 0;
    arriving->is_ignored = arriving->size == 0 &&
                           bcast_receive_was_announced(receiver, arriving->chunk);
    if (arriving->size == 0 && !arriving->is_ignored)
        return err_set(err, "chunk %u of file %u was never announced", arriving->chunk.index,
                       arriving->chunk.file);
    return 0;
}

int arriving_take(struct arriving *arriving, struct bcast_receive *receiver,
                  const unsigned char *body, size_t size, struct error *err)
{
    if (arriving->is_ignored)
        return 0;
    if (size > arriving->size - arriving->came)
        return err_set(err, "more bytes than the chunk has");
    if (size == 0) { /* the sender read a file that was changing */
        arriving->size = 0;
        return 0;
    }
    if (arriving->bytes == NULL)
        arriving->bytes = xmalloc(CHUNK_BYTES);
    memcpy(arriving->bytes + arriving->came, body, size);
    arriving->came += size;
    if (arriving->came < arriving->size)
        return 0;
    if (!bcast_receive_chunk(receiver, arriving->chunk, arriving->bytes, arriving->size))
        bcast_receive_spoilt(receiver, arriving->chunk);
    arriving->size = 0;
    return 0;
}

void arriving_clear(struct arriving *arriving)
{
    free(arriving->bytes);
    *arriving = (struct arriving){ 0 };
}
