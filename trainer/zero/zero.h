/* zero.h - training with the state of the model divided among the ranks
 *
 *     stage   a rank holds whole      and its share of        what ranks send each other in a step
 *       0     parameters, gradients,                          gradients: all-reduce
 *             Adam's averages
 *       1     parameters, gradients   averages                gradients: reduce-scatter;
 *                                                             new parameters: all-gather
 *       2     parameters              gradients, averages     the same, gradients in each pass
 *       3                             parameters, gradients,  in each pass parameters of a layer
 *                                     averages                before it, forwards and backwards,
 *                                                             and gradients behind it
 *
 * All stages are one path through the code: gradients of a bucket are reduced to whom
 * they belong to as soon as the backward pass has left it, each rank does Adam on its
 * pieces, and parameters are gathered again when, or before, a layer needs them. With a
 * communicator that works in the background all of this goes on while layers are
 * computed. In 16 bits, a float master of each parameter is kept with the averages.
 *
 *     zero_open -> masters filled (zero_pieces) -> zero_publish ->
 *     [ zero_begin -> zero_enter, zero_leave, zero_done for each layer -> zero_step ]...
 *     -> zero_close
 *
 * zero.c has the passes and what happens to gradients, zero_params.c how parameters come,
 * zero_step.c the step, zero_memory.c what is allocated, offload.c what is elsewhere.
 *
 * A step may have several passes, each with zero_begin (accumulation). All ranks make
 * the same calls in the same order. All lies in the memory of the communicator: the
 * host's, or a GPU's.
 *
 * Two things can be elsewhere, in the host's memory or in a file: masters and averages, and in
 * stage 3 the parameters. Masters and averages of a bucket come to the host when it is their turn
 * in a step: Adam is the CPU's then. From stage 2 on each bucket's gradient goes there as soon
 * as it is reduced; below, when it is needed. New parameters go back. All of it crosses in 16 bits,
 * while others are computed. Parameters of a layer come when it,
 * or the one before, is entered: two layers of a size are there at a time. offload.c has both.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_H
#define MUSTER_ZERO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "comm/comm.h"
#include "zero/adam.h"
#include "zero/partition.h"
#include "zero/zero_device.h"

enum zero_place {
    ZERO_THERE, /* the communicator's memory */
    ZERO_HOST,  /* the same on a CPU */
    ZERO_FILE,
};

struct zero_offload {
    enum zero_place place;
    bool            is_paged; /* on the host: not in pinned memory, which is never swapped */
    const char     *dir;      /* a file: where */
    int             buffers;  /* a file: how many buckets have room in memory; 0 is 1 */
};

struct zero_options {
    int        stage;      /* 0 to 3; alone, a rank has all and every stage is 0 */
    enum dtype type;       /* of parameters and gradients: float, half or bfloat16 */
    size_t     bucket_max; /* elements; in stage 3 a bucket is a layer */
    double     clip;       /* the largest norm of the gradient; 0: any */

    /* What computes where comm->memory is, borrowed; NULL: the CPU. */
    struct zero_device *device;

    struct zero_offload params; /* stage 3 only, and then also alone */
    struct zero_offload states; /* masters and averages */
    size_t              io_block; /* for files: see swap_file.h */
    int                 io_depth;
};

/* Bytes on this rank. */
struct zero_memory {
    size_t params;
    size_t grads;
    size_t states; /* masters and averages */
    size_t rooms;  /* where whole buckets come together, stages 2 and 3 */
    size_t rings;  /* on the host, for what is on its way to what is elsewhere */
    enum zero_place params_place, grads_place, states_place; /* rooms are there */
};

/* Elements that this rank holds the masters of: places in the flat array of parameters,
 * and where they are, in the host's memory: a copy, if they lie on a GPU. If they lie in a file,
 * they are there only from zero_piece_take to zero_piece_give. */
struct zero_piece {
    size_t start, count;
    float *param, *mean, *square;

    struct zero *in_file; /* NULL: always there */
    int          bucket;
};

struct zero_result {
    double  norm;       /* of the whole gradient, unscaled and not clipped */
    bool    is_skipped; /* a gradient is not finite: nothing has changed */
    int64_t bad;        /* the last such element of the flat array; -1: none */
};

struct zero;

/* Layers with these numbers of elements, in the order of the forward pass. All is zero.
 * comm is borrowed, until after zero_close, which waits for what is under way. NULL with
 * err. */
struct zero *zero_open(struct comm *comm, const struct zero_options *options,
                       const size_t *layer_counts, int layers, struct error *err);
void         zero_close(struct zero *zero); /* NULL is fine */

/* The rest returns 0, or -1 with the reason in err. */

/* Forward and backward pass come. first: gradients begin at zero. last: a step follows. */
void zero_begin(struct zero *zero, bool is_first, bool is_last);

/* *params is the layer, whole, until zero_leave. In the backward pass *grads is where
 * its gradient is added, until zero_done; else it is not set. The same layer may be
 * entered again meanwhile. */
int zero_enter(struct zero *zero, int layer, bool is_backward, void **params, void **grads,
               struct error *err);
void zero_leave(struct zero *zero, int layer);

/* Bytes of what zero_enter gave, to the host. */
int zero_read(struct zero *zero, void *host, const void *memory, size_t bytes,
              struct error *err);

/* The layer's gradient is complete on this rank. Once for each layer in each pass. */
int zero_done(struct zero *zero, int layer, struct error *err);

/* Gradients are sums over all ranks; they are divided by scale, and clipped. */
int zero_step(struct zero *zero, const struct adam *adam, double scale,
              struct zero_result *result, struct error *err);

/* Whose gradient is not finite? A sum does not tell, and what it was made of is gone. A step that
 * was skipped has changed no parameter: so in between come its passes once more, from which
 * nothing is reduced. Then *rank is the lowest whose own gradient of this element is not finite;
 * -1: it is on each, but not their sum. */
void zero_search(struct zero *zero, int64_t element);
int  zero_search_end(struct zero *zero, int *rank, struct error *err);

/* Steps that were not skipped; a checkpoint sets it. */
int64_t zero_steps(const struct zero *zero);
void    zero_set_steps(struct zero *zero, int64_t steps);

/* All pieces of this rank, in rising order, with nothing under way any more; the caller
 * frees them. They hold until zero_publish or zero_step. NULL with err. exclusive: no element
 * is another rank's as well, also in stage 0. */
struct zero_piece *zero_pieces(struct zero *zero, bool is_exclusive, int *count,
                               struct error *err);

/* Both do nothing with a piece that is always there. A piece at a time. is_changed: it is written.
 */
int  zero_piece_take(struct zero_piece *piece, struct error *err);
void zero_piece_give(struct zero_piece *piece, bool is_changed);

/* The masters have been written to: all else follows them. */
int zero_publish(struct zero *zero, struct error *err);

/* What is allocated, and what has to be, from the figures alone. */
struct zero_memory zero_memory(const struct zero *zero);
struct zero_memory zero_memory_needed(const struct zero_options *options,
                                      const size_t *layer_counts, int layers, int ranks);

/* One line: what is allocated, where, and what ZeRO's formula has, in MiB. */
void zero_memory_print(const struct zero *zero, FILE *out);

#endif
