/* state.c - see state.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static void take_scale(struct loss_scale *scale, double value, int patience, int64_t steps,
                       int64_t last_overflow);
static int take_whole(const char *text, const char *name, int64_t *value, struct error *err);
static const char *find(const char *text, const char *name);

char *state_text(const struct state *state)
{
    return xasprintf("step %" PRId64 "\nupdates %" PRId64 "\nsamples %" PRId64 "\nseed %" PRId64
                     "\nbase %" PRId64 "\nshards %" PRId64 "\nbest %.17g\nscale %.17g"
                     "\nscale_steps %" PRId64 "\nlast_overflow %" PRId64 "\npatience %d\n",
                     state->step, state->updates, state->samples, (int64_t)state->seed,
                     (int64_t)state->base, state->shards, state->best, state->scale.scale,
                     state->scale.steps, state->scale.last_overflow, state->scale.patience);
}

int state_parse(struct state *state, const char *text, struct error *err)
{
    struct loss_scale *scale = &state->scale;
    const char        *number = find(text, "scale"), *best = find(text, "best");
    int64_t            seed = 0, base = 0, patience = 0, steps = 0, last_overflow = 0;
    double             value;

    if (take_whole(text, "step", &state->step, err) < 0 ||
        take_whole(text, "updates", &state->updates, err) < 0 ||
        take_whole(text, "samples", &state->samples, err) < 0 ||
        take_whole(text, "seed", &seed, err) < 0 ||
        take_whole(text, "scale_steps", &steps, err) < 0 ||
        take_whole(text, "last_overflow", &last_overflow, err) < 0 ||
        take_whole(text, "patience", &patience, err) < 0 ||
        (find(text, "base") != NULL && take_whole(text, "base", &base, err) < 0) ||
        (find(text, "shards") != NULL && take_whole(text, "shards", &state->shards, err) < 0))
        return -1;
    value = number != NULL ? strtod(number, NULL) : NAN;
    state->best = best != NULL ? strtod(best, NULL) : 0;
    if (!isfinite(value) || value <= 0 || !isfinite(state->best) || state->best < 0 ||
        state->step < 0 || state->updates < 0 || state->samples < 0 || state->shards < 0 ||
        patience < 0 || patience > INT32_MAX)
        return err_set(err, "the state of the training is invalid");
    state->seed = (uint64_t)seed;
    state->base = (uint64_t)base;
    take_scale(scale, value, (int)patience, steps, last_overflow);
    return 0;
}

/* A training without fp16 saves a scale of 1 and no patience. If it resumes with fp16, it
 * starts with the initial scale: with a scale of 1, gradients would vanish for thousands of
 * steps. */
static void take_scale(struct loss_scale *scale, double value, int patience, int64_t steps,
                       int64_t last_overflow)
{
    if (scale->rules.fixed == 0 && patience == 0)
        return;
    scale->steps = steps;
    scale->last_overflow = last_overflow;
    if (scale->rules.fixed != 0)
        return;
    scale->scale = value;
    scale->patience = patience;
}

static int take_whole(const char *text, const char *name, int64_t *value, struct error *err)
{
    const char *number = find(text, name);
    char       *end;

    if (number == NULL)
        return err_set(err, "the state of the training lacks %s", name);
    errno = 0;
    *value = strtoll(number, &end, 10);
    if (errno != 0 || end == number || *end != '\n')
        return err_set(err, "the state of the training: %s is not a number", name);
    return 0;
}

/* Returns the text after this name at the start of a line, or NULL. */
static const char *find(const char *text, const char *name)
{
    const size_t size = strlen(name);

    while (*text != '\0') {
        if (strncmp(text, name, size) == 0 && text[size] == ' ')
            return text + size + 1;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return NULL;
}
