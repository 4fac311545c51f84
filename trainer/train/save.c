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
#include "fnv.h"
#include "train/checkpoint.h"
#include "train/writer.h"
#include "xalloc.h"

static int      begin(struct save *save, const char *tag, const struct state *state,
                      struct error *err);
static int      commit(struct save *save, struct error *err);
static void     tell(struct save *save);
static int      agree_on(const char *dir, const char *tag, struct world *world,
                         struct error *err);
static int      read_checkpoint(const char *dir, const char *tag, struct world *world,
                                const struct model *model, struct zero *zero,
                                struct state *state, struct error *err);
static uint64_t model_print(const struct model *model);

int save_begin(struct save *save, const struct state *state, struct error *err)
{
    char *tag;
    int   rc;

    if (save_end(save, err) < 0)
        return -1;
    save->start_ns = clock_now_ns();
    save->is_saving_best = save->is_best;
    tag = xasprintf("global_step%" PRId64, state->step);
    rc = begin(save, tag, state, err);
    free(tag);
    if (rc < 0)
        return -1;
    save->is_open = true;
    return save->in_background ? 0 : save_end(save, err);
}

/* If rank 0 fails, it exits, and the other ranks fail at the barrier. */
static int begin(struct save *save, const char *tag, const struct state *state,
                 struct error *err)
{
    struct comm            *comm = save->world->comm;
    char                   *note;
    struct zero_piece      *pieces;
    int                     count;

    if (save->world->rank == 0 && checkpoint_begin(save->dir, tag, err) < 0)
        return -1;
    if (comm->ops->barrier(comm, err) < 0)
        return -1;
    pieces = zero_pieces(save->zero, true, &count, err);
    if (pieces == NULL)
        return -1;
    note = state_text(state);
    save->writer = writer_new(save->dir, tag,
                              &(struct shard_info){ .total = save->model->count,
                                                    .model = model_print(save->model),
                                                    .rank = save->world->rank,
                                                    .ranks = save->world->size,
                                                    .note = note },
                              pieces, count, save->in_background, err);
    save->phase = SAVE_WRITE;
    free(note);
    free(pieces);
    return save->writer != NULL ? writer_write(save->writer, err) : -1;
}

bool save_is_written(const struct save *save)
{
    return save->writer == NULL || writer_is_done(save->writer);
}

bool save_will_print(const struct save *save)
{
    return save->writer != NULL && writer_is_done(save->writer);
}

int save_poll(struct save *save, bool is_written, struct error *err)
{
    if (save_will_print(save) && writer_wait(save->writer, err) < 0)
        return -1;
    if (save->phase == SAVE_NONE || !is_written)
        return 0;
    if (save->phase == SAVE_WRITE)
        return commit(save, err);
    if (save->writer != NULL)
        tell(save);
    save->phase = SAVE_NONE;
    return 1;
}

/* Call it when all ranks have written. Only rank 0 has more to do. */
static int commit(struct save *save, struct error *err)
{
    save->phase = SAVE_COMMIT;
    if (save->world->rank == 0)
        return writer_commit(save->writer, save->keep, save->is_saving_best, err);
    writer_free(save->writer);
    save->writer = NULL;
    return 0;
}

static void tell(struct save *save)
{
    printf("saved %s/%s in %.1f s%s\n", save->dir, writer_tag(save->writer),
           (double)(clock_now_ns() - save->start_ns) / NS_PER_S,
           save->in_background ? ", in the background" : "");
    fflush(stdout);
    if (*writer_complaint(save->writer) != '\0')
        fprintf(stderr, "muster-train: --keep: %s\n", writer_complaint(save->writer));
    writer_free(save->writer);
    save->writer = NULL;
}

int save_end(struct save *save, struct error *err)
{
    struct comm *comm = save->world->comm;

    if (!save->is_open)
        return 0;
    if (save->writer != NULL && writer_wait(save->writer, err) < 0)
        return -1;
    if (comm->ops->barrier(comm, err) < 0)
        return -1;
    if (save->writer != NULL && save->phase == SAVE_WRITE && commit(save, err) < 0)
        return -1;
    if (save->writer != NULL && writer_wait(save->writer, err) < 0)
        return -1;
    if (save->writer != NULL)
        tell(save);
    save->phase = SAVE_NONE;
    save->is_open = false;
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
        if (latest == NULL && !is_none)
            return -1;
        tag = latest;
    }
    rc = agree_on(dir, tag, world, err);
    if (rc == 0 && tag != NULL)
        rc = read_checkpoint(dir, tag, world, model, zero, state, err);
    free(latest);
    return rc;
}

/* Checks that all ranks have found the same checkpoint. If DIR is local to each node, some
 * ranks might find a checkpoint and others none, and the model would be a mixture of both. */
static int agree_on(const char *dir, const char *tag, struct world *world, struct error *err)
{
    struct comm *comm = world->comm;
    double       print = 0, least[2];

    if (tag != NULL) /* 52 bits fit into a double */
        print = (double)(fnv_add(FNV_START, tag, strlen(tag)) >> 12);
    least[0] = print;
    least[1] = -print;
    if (comm_reduce_numbers(comm, least, 2, REDOP_MIN, err) < 0 ||
        comm->ops->wait(comm, comm->ops->mark(comm), err) < 0)
        return -1;
    if (least[0] == print && least[1] == -print)
        return 0;
    if (tag == NULL)
        return err_set(err,
                       "%s: no checkpoint on this node, but on others; is %s on a file system "
                       "that all nodes share?",
                       dir, dir);
    return err_set(err,
                   "%s: this node has checkpoint %s, but others do not; is %s on a file system "
                   "that all nodes share?",
                   dir, tag, dir);
}

static int read_checkpoint(const char *dir, const char *tag, struct world *world,
                           const struct model *model, struct zero *zero, struct state *state,
                           struct error *err)
{
    struct checkpoint *checkpoint;
    struct zero_piece *pieces;
    const uint64_t     base = state->base;
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
    if (rc == 0 && state->base != base)
        rc = err_set(err, "%s/%s: it was trained with other frozen parameters: was --model "
                          "another one, or its weights?", dir, tag);
    if (rc == 0 && world->rank == 0)
        printf("continuing from %s/%s, saved by %d %s\n", dir, tag,
               checkpoint_ranks(checkpoint),
               checkpoint_ranks(checkpoint) == 1 ? "rank" : "ranks");
    free(pieces);
    checkpoint_close(checkpoint);
    if (rc < 0)
        return -1;
    zero_set_steps(zero, state->updates);
    return zero_publish(zero, err);
}

/* Returns a hash of the names, shapes and offsets of what is trained, which define the meaning of
 * a position in the flat array. */
static uint64_t model_print(const struct model *model)
{
    uint64_t print = FNV_START;
    int      i;

    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];

        if (param->is_frozen)
            continue;
        print = fnv_add(print, param->name, strlen(param->name) + 1);
        print = fnv_add(print, param->shape, sizeof param->shape);
        print = fnv_add(print, &param->offset, sizeof param->offset);
    }
    return print;
}
