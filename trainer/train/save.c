/* save.c - see save.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/save.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "train/checkpoint.h"
#include "xalloc.h"

static int      write_checkpoint(const char *dir, const char *tag, struct world *world,
                                 const struct shard_info *info, struct zero *zero,
                                 struct error *err);
static int      read_checkpoint(const char *dir, const char *tag, struct world *world,
                                const struct model *model, struct zero *zero,
                                struct state *state, struct error *err);
static uint64_t model_print(const struct model *model);

int save_checkpoint(const char *dir, struct world *world, const struct model *model,
                    struct zero *zero, const struct state *state, struct error *err)
{
    const int64_t           start_ns = clock_now_ns();
    char                   *tag = xasprintf("global_step%" PRId64, state->step);
    char                   *note = state_text(state);
    const struct shard_info info = { .total = model->count, .model = model_print(model),
                                     .rank = world->rank, .ranks = world->size, .note = note };
    int                     rc;

    rc = write_checkpoint(dir, tag, world, &info, zero, err);
    if (rc == 0 && world->rank == 0)
        printf("saved %s/%s in %.1f s\n", dir, tag,
               (double)(clock_now_ns() - start_ns) / NS_PER_S);
    free(tag);
    free(note);
    return rc;
}

/* Where rank 0 fails, it leaves, and the others hear of it at the barrier. */
static int write_checkpoint(const char *dir, const char *tag, struct world *world,
                            const struct shard_info *info, struct zero *zero,
                            struct error *err)
{
    struct comm       *comm = world->comm;
    struct zero_piece *pieces;
    int                count, rc;

    if (world->rank == 0 && checkpoint_begin(dir, tag, err) < 0)
        return -1;
    if (comm->ops->barrier(comm, err) < 0)
        return -1;
    pieces = zero_pieces(zero, true, &count, err);
    if (pieces == NULL)
        return -1;
    rc = checkpoint_write(dir, tag, info, pieces, count, err);
    free(pieces);
    if (rc < 0 || comm->ops->barrier(comm, err) < 0)
        return -1;
    if (world->rank == 0 && checkpoint_commit(dir, tag, world->size, err) < 0)
        return -1;
    return comm->ops->barrier(comm, err);
}

int load_checkpoint(const char *dir, const char *tag, struct world *world,
                    const struct model *model, struct zero *zero, struct state *state,
                    bool *found, struct error *err)
{
    char *latest = NULL;
    bool  is_none = false;
    int   rc;

    *found = true;
    if (tag == NULL) {
        latest = checkpoint_latest(dir, &is_none, err);
        *found = latest != NULL;
        if (latest == NULL)
            return is_none ? 0 : -1;
        tag = latest;
    }
    rc = read_checkpoint(dir, tag, world, model, zero, state, err);
    free(latest);
    return rc;
}

static int read_checkpoint(const char *dir, const char *tag, struct world *world,
                           const struct model *model, struct zero *zero, struct state *state,
                           struct error *err)
{
    struct checkpoint *checkpoint;
    struct zero_piece *pieces;
    struct error       why;
    int                count, rc = -1;

    checkpoint = checkpoint_open(dir, tag, model->count, model_print(model), err);
    if (checkpoint == NULL)
        return -1;
    pieces = zero_pieces(zero, false, &count, err);
    if (pieces != NULL)
        rc = checkpoint_read(checkpoint, pieces, count, err);
    if (rc == 0 && state_parse(state, checkpoint_note(checkpoint), &why) < 0)
        rc = err_set(err, "%s/%s: %s", dir, tag, why.text);
    if (rc == 0 && world->rank == 0)
        printf("continuing from %s/%s, of %d %s\n", dir, tag, checkpoint_ranks(checkpoint),
               checkpoint_ranks(checkpoint) == 1 ? "rank" : "ranks");
    free(pieces);
    checkpoint_close(checkpoint);
    if (rc < 0)
        return -1;
    zero_set_steps(zero, state->updates);
    return zero_publish(zero, err);
}

/* FNV-1a of what makes places mean the same: names, shapes and offsets. */
static uint64_t add_bytes(uint64_t print, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (; size > 0; size--)
        print = (print ^ *at++) * 0x100000001b3u;
    return print;
}

static uint64_t model_print(const struct model *model)
{
    uint64_t print = 0xcbf29ce484222325u;
    int      i;

    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];

        print = add_bytes(print, param->name, strlen(param->name) + 1);
        print = add_bytes(print, param->shape, sizeof param->shape);
        print = add_bytes(print, &param->offset, sizeof param->offset);
    }
    return print;
}
