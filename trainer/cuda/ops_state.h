/* ops_state.h - the internal state shared by the files that implement ops_cuda.h
 *
 * Each of these files sets its operations in ops, for the type of ops.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPS_STATE_H
#define MUSTER_OPS_STATE_H

#include "cuda/ops_cuda.h"
#include "cuda/product.h"
#include "cuda/stream.h"

struct ops_cuda {
    struct ops              ops; /* the public part */
    struct stream           stream;
    struct products_cuda   *products;
    float                  *columns; /* partial sums, used by norm.cu */
    size_t                  columns_room;
    float                  *losses; /* one per row, used by loss.cu */
    size_t                  losses_room;
    struct loss_sum        *loss;
    bool                    has_tensor_cores;
    cudaStream_t            copies; /* used by park.cu; NULL: there was no copy */
    cudaEvent_t             computed, copied[OPS_LANES];
};

void loops_fill(struct ops *ops);
void rows_fill(struct ops *ops);
void embed_fill(struct ops *ops);
void norm_fill(struct ops *ops);
void loss_fill(struct ops *ops);
void attention_fill(struct ops *ops);
void park_fill(struct ops *ops);
void park_clear(struct ops_cuda *cuda);

static inline struct stream *stream_of(struct ops *ops)
{
    return &((struct ops_cuda *)ops)->stream;
}

/* Makes *memory hold at least count floats, and keeps it for the next call; false after a
 * failure. */
bool ops_room(struct ops_cuda *cuda, float **memory, size_t *room, size_t count);

#endif
