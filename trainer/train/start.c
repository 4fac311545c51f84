/* start.c - see start.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/start.h"

#include <stdio.h>
#include <stdlib.h>

#include "fnv.h"
#include "model/model_fill.h"
#include "model/model_weights.h"
#include "model/scramble.h"
#include "train/checkpoint.h"
#include "train/save.h"
#include "weights/adapter.h"

/* Where values of parameters come from, as a value_source. */
struct origin {
    struct safetensors *base;    /* NULL: there are no weights */
    struct safetensors *adapter; /* NULL: what is trained has no file of its own */
    uint64_t            print;   /* of base; 0: there is none */
    uint64_t            seed;
};

static int  open_origin(const struct start *start, struct origin *origin, struct error *err);
static int  open_adapter(const struct start *start, struct origin *origin, struct error *err);
static int  read_origin(void *arg, const struct model_param *param, size_t first, size_t count,
                        float *values, struct error *err);
static int  fill_frozen(const struct start *start, struct origin *origin, struct state *state,
                        struct error *err);
static int  fill_bytes(void *arg, size_t first, size_t count, void *memory, struct error *err);
static int  fill_trained(const struct start *start, struct origin *origin, struct error *err);
static const char *tag_of_start(const struct train_options *options);
static int  point_to_tag(const struct start *start, struct error *err);
static void tell_start(const struct start *start);

/* A filling of the array of frozen parameters. */
struct filling {
    const struct model *model;
    struct value_source source;
};

int start_training(const struct start *start, struct state *state, uint64_t *base,
                   struct error *err)
{
    const struct train_options *options = start->options;
    const struct weights       *weights = &start->weights;
    const char                 *tag = tag_of_start(options);
    struct origin               origin;
    bool                        found = false;
    int                         rc;

    if (open_origin(start, &origin, err) < 0)
        return -1;
    rc = weights->frozen != NULL ? fill_frozen(start, &origin, state, err) : 0;
    if (rc == 0 && options->checkpoint_dir != NULL)
        rc = load_checkpoint(options->checkpoint_dir, tag, start->world, weights->model,
                             weights->trained, state, &found, err);
    if (rc == 0 && found) {
        rc = tag != NULL ? point_to_tag(start, err) : 0;
    } else if (rc == 0) {
        tell_start(start);
        rc = open_adapter(start, &origin, err);
        if (rc == 0)
            rc = fill_trained(start, &origin, err);
    }
    *base = origin.print;
    safetensors_close(origin.adapter);
    safetensors_close(origin.base);
    return rc;
}

/* ---- values ---- */

static int open_origin(const struct start *start, struct origin *origin, struct error *err)
{
    const char *dir = start->options->model;

    *origin = (struct origin){ .seed = (uint64_t)start->options->seed };
    if (!weights_are_in(dir))
        return 0;
    origin->base = safetensors_open(dir, err);
    if (origin->base == NULL)
        return -1;
    if (model_weights_check(start->weights.model, origin->base, err) == 0)
        return 0;
    safetensors_close(origin->base);
    return -1;
}

static int open_adapter(const struct start *start, struct origin *origin, struct error *err)
{
    uint64_t print;

    if (start->adapter == NULL)
        return 0;
    origin->adapter = adapter_open(start->adapter, start->weights.model, origin->print, err);
    if (origin->adapter == NULL || weights_print(origin->adapter, &print, err) < 0)
        return -1;
    return world_agree(start->world, print, start->adapter, err);
}

static int read_origin(void *arg, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err)
{
    const struct origin *origin = arg;

    if (origin->adapter != NULL && !param->is_frozen)
        return adapter_read(origin->adapter, param, first, count, values, err);
    if (origin->base != NULL && !param->is_adapter)
        return model_weights_read(origin->base, param, first, count, values, err);
    model_initial_param(param, origin->seed, first, count, values);
    return 0;
}

/* A checkpoint has only what is trained. So its state says for which frozen parameters, and all
 * ranks must have the same ones. */
static int fill_frozen(const struct start *start, struct origin *origin, struct state *state,
                       struct error *err)
{
    struct filling filling = { .model = start->weights.model,
                               .source = { .arg = origin, .read = read_origin } };
    const char    *dir = start->options->model;
    const int      quantize = (int)start->weights.model->quantize;

    if (origin->base != NULL && weights_print(origin->base, &origin->print, err) < 0)
        return -1;
    state->base = fnv_add(origin->base != NULL ? origin->print : scramble(origin->seed),
                          &quantize, sizeof quantize);
    if (world_agree(start->world, state->base, dir, err) < 0)
        return -1;
    return zero_fill(start->weights.frozen, fill_bytes, &filling, err);
}

static int fill_bytes(void *arg, size_t first, size_t count, void *memory, struct error *err)
{
    const struct filling *filling = arg;

    return model_fill_frozen(filling->model, &filling->source, first, count, memory, err);
}

static int fill_trained(const struct start *start, struct origin *origin, struct error *err)
{
    const struct value_source source = { .arg = origin, .read = read_origin };
    const struct weights     *weights = &start->weights;
    struct zero_piece        *pieces;
    int                       count, i, rc = 0;

    pieces = zero_pieces(weights->trained, false, &count, err);
    if (pieces == NULL)
        return -1;
    for (i = 0; i < count && rc == 0; i++) {
        rc = zero_piece_take(&pieces[i], err);
        if (rc < 0)
            break;
        rc = model_fill(weights->model, &source, pieces[i].start, pieces[i].count,
                        pieces[i].param, err);
        zero_piece_give(&pieces[i], true);
    }
    free(pieces);
    return rc < 0 ? -1 : zero_publish(weights->trained, err);
}

/* ---- checkpoints ---- */

/* --tag applies only to the first generation that gets this far. Later ones use the latest. */
static const char *tag_of_start(const struct train_options *options)
{
    const char *run = getenv("MUSTER_RUN_ID");
    const bool  is_first =
        start_generation() == 0 || (run != NULL && options->checkpoint_dir != NULL &&
                                    !checkpoint_was_pointed(options->checkpoint_dir, run));

    return is_first ? options->tag : NULL;
}

int start_generation(void)
{
    const char *count = getenv("MUSTER_GENERATION");

    return count != NULL ? atoi(count) : 0;
}

/* Makes a restart before the first save begin at --tag, too. All ranks have read the checkpoint
 * by now. Only rank 0 writes latest, and the other ranks do not read latest in this
 * generation. */
static int point_to_tag(const struct start *start, struct error *err)
{
    const struct train_options *options = start->options;

    return start->world->rank == 0
               ? checkpoint_point_latest(options->checkpoint_dir, options->tag,
                                         getenv("MUSTER_RUN_ID"), err) : 0;
}

/* Warns if a restart has lost all earlier work. */
static void tell_start(const struct start *start)
{
    const char *dir = start->options->checkpoint_dir;

    if (start->world->rank != 0 || start_generation() == 0)
        return;
    if (dir == NULL)
        fprintf(stderr, "muster-train: restart %d begins at step 0: "
                        "no --checkpoint_dir is set\n", start_generation());
    else
        fprintf(stderr, "muster-train: restart %d begins at step 0: no checkpoint in %s\n",
                start_generation(), dir);
}
