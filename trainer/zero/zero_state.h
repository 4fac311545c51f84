/* zero_state.h - what the files of zero.h know of each other
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_STATE_H
#define MUSTER_ZERO_STATE_H

#include "zero/bucket.h"
#include "zero/swap_ring.h"
#include "zero/zero.h"

struct zero_bucket {
    uint64_t params_mark;   /* below stage 3: the gathering of its parameters */
    int      layers_done;   /* in this pass */
    bool     has_grads;     /* the backward pass has entered it */
    bool     has_own_grads; /* from stage 2 on: this rank's sum has begun */
};

/* What follows from the options and the number of ranks. */
struct zero_plan {
    struct zero_options options; /* what is asked for, where it makes a difference */
    bool                on_gpu;
    bool                params_come; /* layers' parameters come into rooms: stage 3 */
    bool                grads_go;    /* gradients leave rooms for the share: stages 2 and 3 */
    bool                grads_away;  /* which is on the host */
    bool                has_params;  /* else masters are the parameters */
    bool                has_masters; /* else parameters are the masters */
};

struct zero {
    struct comm        *comm;
    struct zero_plan    plan;
    struct zero_device *device;
    enum dtype          type;
    size_t              element; /* bytes of type */
    struct partition    partition;
    int                 piece;   /* which one of each bucket is this rank's */
    struct zero_bucket *bucket;

    /* Whole below stage 3, else the share; NULL where masters are the parameters, or in a file. */
    void  *params;
    void  *grads;    /* whole below stage 2, else the share, maybe pinned */
    float *masters;  /* the share; NULL: params are the masters, or all states are in a file */
    float *means, *squares;
    float *mirror; /* on the host, of masters, means and squares on a GPU, for zero_pieces */
    void  *ring[2 * ZERO_LANES]; /* pinned; for offload: gradients and parameters on the way */
    struct swap_ring    states_ring, params_ring; /* a record is a bucket */
    struct bucket_rooms gathered; /* parameters, stage 3 */
    struct bucket_rooms reduced;  /* gradients, stages 2 and 3 */

    bool               is_first, is_last; /* pass of the step */
    bool               is_searching; /* zero_search: no gradient is reduced */
    bool               is_found;     /* on this rank */
    size_t             searched;     /* element of the flat array */
    bool               has_no_memory;
    int                entered, direction; /* the bucket entered last, in turn: 1 or -1; 0: none */
    unsigned           fetches;
    int64_t            steps;
    struct zero_memory memory;
};

/* zero_memory.c */
struct zero_plan zero_plan(const struct zero_options *options, int ranks);
void             zero_partition(struct partition *partition, const struct zero_plan *plan,
                                const size_t *layer_counts, int layers, int ranks);
int              zero_allocate(struct zero *zero, struct error *err);
void             zero_release(struct zero *zero);

/* Where this rank's piece of a bucket is: of the parameters in the model's type, unless they are in
 * a file, of the reduced gradient, and of the masters and averages, likewise. */
void             *zero_own_params(const struct zero *zero, int bucket);
void             *zero_own_grads(const struct zero *zero, int bucket);
struct zero_piece zero_own_piece(const struct zero *zero, int bucket);

/* masters and averages where zero_pieces has them. */
struct zero_piece zero_host_piece(struct zero *zero, int bucket);

/* What zero_pieces has made is not needed any more. */
void zero_rest(struct zero *zero);

/* zero_params.c: the bucket's parameters, whole; and to all ranks that hold it whole, new ones. */
void *zero_whole_params(struct zero *zero, int bucket, bool is_backward, struct error *err);
int   zero_spread(struct zero *zero, int bucket, struct error *err);
/* There are new ones: what the rooms hold is not valid any more. */
int   zero_forget(struct zero *zero, struct error *err);

/* What Adam works on in this bucket, but for a copy of the parameters. */
struct adam_arrays zero_adam_arrays(const struct zero *zero, int bucket);

/* offload.c: a step where Adam is the host's; and a bucket of one where the parameters, but not
 * the rest, are elsewhere. */
int  zero_update_offloaded(struct zero *zero, const struct adam *adam, double factor,
                           struct error *err);
int  zero_update_away(struct zero *zero, const struct adam *adam, double factor, int bucket,
                      struct error *err);
/* Read what such a step begins with. */
void zero_read_ahead(struct zero *zero, int bucket);

/* This rank's part of a reduced gradient, from the room to the host; and when it is there, or has
 * not been sent, into its sum. */
void zero_send_grads(struct zero *zero, struct bucket_room *room);
void zero_add_grads(struct zero *zero, struct bucket_room *room);

/* Where on the host parameters of a bucket can be written in the model's type, by whoever has
 * them there; NULL with err. Then they go where they belong. */
void *zero_params_room(struct zero *zero, int bucket, struct error *err);
void  zero_params_sent(struct zero *zero, int bucket);

/* zero_step.c: this rank's gradient of a whole bucket, during a search. */
int zero_look(struct zero *zero, int bucket, const void *grads, struct error *err);

/* Wait for gradients under way, and add this rank's piece to its sum. */
int zero_collect(struct zero *zero, struct bucket_room *room, struct error *err);

#endif
