/* zero_state.h - what zero.c and zero_step.c know of each other
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_STATE_H
#define MUSTER_ZERO_STATE_H

#include "zero/bucket.h"
#include "zero/zero.h"

struct zero_bucket {
    uint64_t params_mark;   /* below stage 3: the gathering of its parameters */
    int      layers_done;   /* in this pass */
    bool     has_grads;     /* the backward pass has entered it */
    bool     has_own_grads; /* from stage 2 on: this rank's sum has begun */
};

struct zero {
    struct comm        *comm;
    struct zero_options options;
    struct zero_device *device;
    bool                on_gpu;
    size_t              element; /* bytes of options.type */
    struct partition    partition;
    int                 piece;   /* which one of each bucket is this rank's */
    struct zero_bucket *bucket;

    /* Whole below stage 3, else the share, or NULL where masters are the parameters. */
    void  *params;
    void  *grads;    /* whole below stage 2, else the share */
    float *masters;  /* the share; NULL: params are the masters */
    float *means, *squares;
    float *mirror; /* on the host, of masters, means and squares on a GPU, once it was wanted */
    void  *ring[2 * ZERO_LANES]; /* pinned; for offload: gradients and parameters on the way */
    struct bucket_rooms gathered; /* parameters, stage 3 */
    struct bucket_rooms reduced;  /* gradients, stages 2 and 3 */

    bool               is_first, is_last; /* pass of the step */
    bool               has_no_memory;
    int64_t            steps;
    struct zero_memory memory;
};

/* Where this rank's piece of a bucket is: of the parameters as layers take them, of the
 * reduced gradient, and of the masters and averages. */
void             *zero_own_params(const struct zero *zero, int bucket);
void             *zero_own_grads(const struct zero *zero, int bucket);
struct zero_piece zero_own_piece(const struct zero *zero, int bucket);

/* The same three of a piece in the mirror, or where they are if that is the host's memory. */
struct zero_piece zero_host_piece(const struct zero *zero, int bucket);

/* What Adam works on in this bucket. */
struct adam_arrays zero_adam_arrays(const struct zero *zero, int bucket);

/* The bucket's new parameters, to all ranks that hold it whole. */
int zero_spread(struct zero *zero, int bucket, struct error *err);

/* offload.c: the same as a step does otherwise, and the parameters from the masters. */
int  zero_update_offloaded(struct zero *zero, const struct adam *adam, double factor,
                           struct error *err);
void zero_copy_offloaded(struct zero *zero, int bucket);

/* Wait for gradients under way, and add this rank's piece to its sum. */
int zero_collect(struct zero *zero, struct bucket_room *room, struct error *err);

#endif
