/* zero_state.h - the internal state shared by the files that implement zero.h
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_STATE_H
#define MUSTER_ZERO_STATE_H

#include "zero/bucket.h"
#include "zero/swap_ring.h"
#include "zero/zero.h"

struct zero_bucket {
    uint64_t params_mark;   /* below stage 3: of the gather of its parameters */
    int      layers_done;   /* in this pass */
    bool     has_grads;     /* the backward pass has entered it */
    bool     has_own_grads; /* with grads_in_rooms: this rank's sum has a first gradient */
};

/* Derived from the options and the number of ranks. */
struct zero_plan {
    struct zero_options options; /* as requested, without the parts that make no difference, and
                                  * with a copy of spared */
    bool                on_gpu;
    bool                params_come; /* layers' parameters are gathered into rooms: stage 3 */
    bool                grads_go;    /* gradients are moved from rooms to the share: 2 and 3 */
    bool                grads_in_rooms; /* while a pass computes them: if they go, or are summed
                                         * in another type */
    enum dtype          sum_type;    /* of the sums of gradients */
    bool                grads_away;  /* the gradients' share is on the host */
    bool                has_params;  /* else the masters are the parameters */
    bool                has_masters; /* else the parameters are the masters */
};

struct zero {
    struct comm        *comm;
    struct zero_plan    plan;
    struct zero_device *device;
    enum dtype          type;
    size_t              element; /* bytes of type */
    size_t              sum_element; /* bytes of plan.sum_type */
    struct partition    partition;
    int                 piece;   /* the number of this rank's piece in each bucket */
    struct zero_bucket *bucket;
    struct partition_range *spared; /* plan.options.spared */

    /* Whole below stage 3, else the share. NULL: the masters are the parameters, or the
     * parameters are in a file. */
    void  *params;
    void  *grads;    /* their sums: whole below stage 2, else the share, maybe pinned */
    float *masters;  /* the share; NULL: params are the masters, or all states are in a file */
    float *means, *squares;
    float *mirror; /* a copy on the host of masters, means and squares, for zero_pieces */
    void  *ring[2 * ZERO_LANES]; /* pinned; offload copies gradients and parameters via it */
    struct swap_ring    states_ring, params_ring; /* a record is a bucket */
    struct bucket_rooms gathered; /* parameters, stage 3 */
    struct bucket_rooms reduced;  /* gradients, with grads_in_rooms */

    bool               is_first, is_last; /* pass of the step */
    bool               is_searching; /* after zero_search(): no gradient is reduced */
    bool               is_found;     /* the searched element is not finite on this rank */
    size_t             searched;     /* element of the flat array */
    bool               has_no_memory;
    int                entered, direction; /* last bucket entered in order; 1, -1 or 0: none */
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

/* Return this rank's piece of a bucket: of the parameters in the model's type, of the reduced
 * gradient, and of the masters and averages. Do not use the pointers of data in a file. */
void             *zero_own_params(const struct zero *zero, int bucket);
void             *zero_own_grads(const struct zero *zero, int bucket);
struct zero_piece zero_own_piece(const struct zero *zero, int bucket);

/* Returns the masters and averages of a bucket in the host's memory, as zero_pieces() does. */
struct zero_piece zero_host_piece(struct zero *zero, int bucket);

/* Frees the copy that zero_pieces() made. */
void zero_rest(struct zero *zero);

/* zero_params.c: returns the bucket's whole parameters; sends new parameters to all ranks that
 * hold the bucket whole. */
void *zero_whole_params(struct zero *zero, int bucket, bool is_backward, struct error *err);
int   zero_spread(struct zero *zero, int bucket, struct error *err);
/* Marks the gathered rooms as empty, because the parameters have changed. */
int   zero_forget(struct zero *zero, struct error *err);

/* Returns the arrays that Adam uses for this bucket, without the copy of the parameters. */
struct adam_arrays zero_adam_arrays(const struct zero *zero, int bucket);

/* offload.c: does a step with Adam on the CPU; does a bucket of a step in which only the
 * parameters are offloaded. */
int  zero_update_offloaded(struct zero *zero, const struct adam *adam, double factor,
                           struct error *err);
int  zero_update_away(struct zero *zero, const struct adam *adam, double factor, int bucket,
                      struct error *err);
/* Begins to read the records that the step needs first. */
void zero_read_ahead(struct zero *zero, int bucket);

/* Begins to copy this rank's part of a reduced gradient from the room to the host. Then waits
 * for the copy, or copies now, and adds the part to its sum. */
void zero_send_grads(struct zero *zero, struct bucket_room *room);
void zero_add_grads(struct zero *zero, struct bucket_room *room);

/* zero_params_room() returns host memory for a bucket's new parameters in the model's type;
 * NULL with err. When the caller has written them, zero_params_sent() moves them to their
 * place. */
void *zero_params_room(struct zero *zero, int bucket, struct error *err);
void  zero_params_sent(struct zero *zero, int bucket);

/* zero_step.c: looks for the searched element in this rank's own gradient of a whole bucket. */
int zero_look(struct zero *zero, int bucket, const void *grads, struct error *err);

/* Waits for the reduction of the room's gradients and adds this rank's piece to its sum. */
int zero_collect(struct zero *zero, struct bucket_room *room, struct error *err);

#endif
