/* zero.h - training with the state of the model divided among the ranks
 *
 *     stage  a rank holds whole     and its share of        communication in a step
 *       0    parameters, gradients,                         gradients: all-reduce
 *            Adam's averages
 *       1    parameters, gradients  averages                gradients: reduce-scatter;
 *                                                           new parameters: all-gather
 *       2    parameters             gradients, averages     as 1, but gradients in each pass
 *       3                           parameters, gradients,  in each pass: a layer's parameters
 *                                   averages                before it, forward and backward;
 *                                                           its gradients after it
 *
 * All stages use the same code: as soon as the backward pass has left a bucket, the bucket's
 * gradients are reduced to the ranks that hold them; each rank does Adam on its pieces; the
 * parameters are gathered again when a layer needs them, or before. With a communicator
 * that works in the background, all of this overlaps with the computation of layers. In 16
 * bits, each parameter has a float master, which is kept with the averages.
 *
 *     zero_open -> fill the masters (zero_pieces) -> zero_publish ->
 *     [ zero_begin -> zero_enter, zero_leave, zero_done for each layer -> zero_step ]...
 *     -> zero_close
 *
 * Frozen parameters (zero_options.is_frozen) are divided in stage 3, and whole in the other stages.
 * They have neither gradients nor masters, and no step:
 *
 *     zero_open -> zero_fill -> [zero_enter, zero_leave for each layer]... -> zero_close
 *
 * zero.c has the passes and the gradients, zero_params.c the gathering of parameters,
 * zero_step.c the step, zero_memory.c the allocation, offload.c the offloading.
 *
 * A step may have several passes, each with zero_begin (accumulation). In 16 bits, the sum of
 * many passes stops growing: bfloat16 has 8 bits, so it loses whatever is less than 1/512 of the
 * sum. With sums_in_float, the gradient of each pass still has the model's type, in a room, and
 * is added to a sum in float. From stage 2 on, ranks' gradients are reduced in each pass, in the
 * model's type, and the sum is a share. Below stage 2 the sum is whole, and reduced in float.
 *
 * All ranks make the same calls in the same order. All data is in the communicator's memory,
 * which is the host's or a GPU's, unless it is offloaded.
 *
 * Masters and averages can be offloaded to the host's memory or to a file; so can, in stage 3,
 * the parameters. If masters and averages are offloaded, the CPU does Adam, and a file's
 * records are read bucket by bucket during the step. From stage 2 on, each bucket's gradient is
 * copied to the host as soon as it is reduced; below stage 2, when Adam needs it. New
 * parameters are copied back. The copies have 16 bits in 16-bit training and overlap with
 * computation. If parameters are offloaded, a layer's parameters are copied to the GPU when
 * that layer, or the one before it, is entered: two layers of each size are in the GPU's memory
 * at a time. offload.c has both.
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
    ZERO_HOST,  /* the host's memory; without a GPU the same as ZERO_THERE */
    ZERO_FILE,
};

struct zero_offload {
    enum zero_place place;
    bool            is_paged; /* ZERO_HOST: not in pinned memory, which is never swapped */
    const char     *dir;      /* ZERO_FILE: its directory */
    int             buffers;  /* ZERO_FILE: buckets that fit into memory; 0 means 1 */
};

struct zero_options {
    int        stage;      /* 0 to 3; a single rank holds all, so every stage is 0 */
    bool       is_frozen;  /* the parameters never change */
    enum dtype type;       /* of parameters and gradients: float, half or bfloat16; frozen: any */
    bool       sums_in_float; /* the gradients of a step's passes are added in float */
    size_t     bucket_max; /* elements; in stage 3 a bucket is a layer */
    double     clip;       /* the largest norm of the gradient; 0: no limit */

    /* Ranges of the flat array that weight decay spares; in order, and they do not overlap. */
    const struct partition_range *spared;
    int                           spared_count;

    /* Computes in comm->memory. Borrowed; NULL: the CPU. */
    struct zero_device *device;

    struct zero_offload params; /* stage 3 only, but then for a single rank, too */
    struct zero_offload states; /* masters and averages */
    size_t              io_block; /* for files: see swap_file.h */
    int                 io_depth;
};

/* Bytes that this rank holds. */
struct zero_memory {
    size_t params;
    size_t grads;
    size_t states; /* masters and averages */
    size_t rooms;  /* for whole buckets, stages 2 and 3, and with sums_in_float */
    size_t rings;  /* on the host, for data that is being copied to or from offloaded data */
    enum zero_place params_place, grads_place, states_place; /* rooms are always ZERO_THERE */
};

/* A range of the flat array of parameters whose masters this rank holds. The pointers are in
 * the host's memory: if the masters are on a GPU, they point to a copy; if the masters are in a
 * file, they are valid only between zero_piece_take() and zero_piece_give(). */
struct zero_piece {
    size_t start, count;
    float *param, *mean, *square;

    struct zero *in_file; /* NULL: not in a file, the pointers are always valid */
    int          bucket;
};

struct zero_result {
    double  norm;       /* of the whole gradient, unscaled and not clipped */
    bool    is_skipped; /* a gradient is not finite, so nothing has changed */
    int64_t bad;        /* the last element of the flat array that is not finite; -1: none */
};

struct zero;

/* layer_counts: the number of elements of each layer, in the order of the forward pass. All
 * elements start as zero. comm is borrowed until zero_close() has returned, which waits for
 * running operations. NULL with err. */
struct zero *zero_open(struct comm *comm, const struct zero_options *options,
                       const size_t *layer_counts, int layers, struct error *err);
void         zero_close(struct zero *zero); /* NULL is fine */

/* The functions below return 0, or -1 with the reason in err. */

/* Begins a forward and backward pass. is_first: gradients start at zero. is_last: a step
 * follows. */
void zero_begin(struct zero *zero, bool is_first, bool is_last);

/* Sets *params to the whole layer, valid until zero_leave(). In the backward pass, sets *grads
 * to the memory to which the layer's gradient is added, valid until zero_done(). A layer may be
 * entered again before it is left. Does nothing if the layer has no elements, and leaves *grads as
 * it is if they are frozen. */
int zero_enter(struct zero *zero, int layer, bool is_backward, void **params, void **grads,
               struct error *err);
void zero_leave(struct zero *zero, int layer);

/* Copies bytes to the host, from memory that zero_enter() returned. */
int zero_read(struct zero *zero, void *host, const void *memory, size_t bytes,
              struct error *err);

/* Call it once for each layer in each pass, when the layer's gradient is complete on this
 * rank. */
int zero_done(struct zero *zero, int layer, struct error *err);

/* Divides the gradients, which are sums over all ranks, by scale, clips them and does Adam. */
int zero_step(struct zero *zero, const struct adam *adam, double scale,
              struct zero_result *result, struct error *err);

/* Find the rank whose gradient is not finite. The sum does not show it, and the ranks' own
 * gradients are gone. But a skipped step has changed no parameter, so between these two calls
 * the caller repeats the passes of the step, and nothing is reduced. zero_search_end() sets
 * *rank to the lowest rank whose own gradient of this element is not finite, or to -1 if all of
 * them are finite and only their sum is not. */
void zero_search(struct zero *zero, int64_t element);
int  zero_search_end(struct zero *zero, int *rank, struct error *err);

/* The number of steps that were not skipped. A resume from a checkpoint sets it. */
int64_t zero_steps(const struct zero *zero);
void    zero_set_steps(struct zero *zero, int64_t steps);

/* Waits for running operations and returns all pieces of this rank in ascending order; the
 * caller frees the array. The pieces are valid until zero_publish() or zero_step(). NULL with
 * err. is_exclusive: returns no element that another rank returns, too, even in stage 0. */
struct zero_piece *zero_pieces(struct zero *zero, bool is_exclusive, int *count,
                               struct error *err);

/* Read a piece from the file and give it back; is_changed: also write it. Both do nothing with
 * a piece that is not in a file. Take only one piece at a time. */
int  zero_piece_take(struct zero_piece *piece, struct error *err);
void zero_piece_give(struct zero_piece *piece, bool is_changed);

/* Call it after the masters have been changed: updates all parameters from them. */
int zero_publish(struct zero *zero, struct error *err);

/* Sets frozen parameters, each rank its share. fill sets memory, on the host, to count elements
 * of the flat array, from first on; -1 with err. */
typedef int zero_filler(void *arg, size_t first, size_t count, void *memory, struct error *err);
int zero_fill(struct zero *zero, zero_filler *fill, void *arg, struct error *err);

/* Return the memory that is allocated, and the memory that these options would need. */
struct zero_memory zero_memory(const struct zero *zero);
struct zero_memory zero_memory_needed(const struct zero_options *options,
                                      const size_t *layer_counts, int layers, int ranks);

/* Prints one line: how much is allocated, where, and how much by ZeRO's formula, in MiB. For
 * frozen parameters it goes on from the other line. */
void zero_memory_print(const struct zero *zero, FILE *out);

#endif
