/* progress.c - see progress.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "train/memory.h"

#define EVERY 10 /* steps, unless the configuration sets steps_per_print */

static void say_skipped(const struct step *step, const struct step_result *result);
static void say_duration(double seconds);
static void say_more(struct progress *progress, const struct step *step,
                     const struct step_result *result, double seconds);
static void say_speed(const struct progress *progress, const struct step *step, double seconds);

void progress_init(struct progress *progress, const struct step *step, int64_t last)
{
    const struct ds_config *config = step->config;

    *progress = (struct progress){
        .every = config->steps_per_print > 0 ? config->steps_per_print : EVERY,
        .last = last,
        .tokens = (double)config->train_batch_size * step->samples->length,
        .is_tty = isatty(STDOUT_FILENO) == 1,
        .start_ns = clock_now_ns(),
        .first = step->state->step,
    };
    progress->last_ns = progress->start_ns;
}

void progress_step(struct progress *progress, const struct step *step,
                   const struct step_result *result)
{
    const int64_t now = step->state->step;
    const int64_t now_ns = clock_now_ns();
    const double  each = (double)(now_ns - progress->start_ns) / NS_PER_S /
                        (double)(now - progress->first);
    const double  this_s = (double)(now_ns - progress->last_ns) / NS_PER_S;

    progress->last_ns = now_ns;
    if (step->world->rank != 0)
        return;
    if (result->zero.is_skipped) {
        progress_clear(progress);
        say_skipped(step, result);
    }
    if (!progress->is_tty && now % progress->every != 0 && now != progress->last &&
        now != progress->first + 1)
        return;
    printf("%sstep %" PRId64 "/%" PRId64 "  loss %.6f  lr %.3e", progress->is_tty ? "\r" : "",
           now, progress->last, result->loss, result->lr);
    if (!result->zero.is_skipped)
        printf("  norm %.4g", result->zero.norm);
    if (result->scale != 1)
        printf("  scale %g", result->scale);
    printf("  %.0f tokens/s", progress->tokens / each);
    say_duration(each * (double)(progress->last - now));
    fputs(progress->is_tty ? "\033[K" : "\n", stdout);
    fflush(stdout);
    progress->has_line = progress->is_tty;
    if (now % progress->every == 0 || now == progress->last)
        say_more(progress, step, result, this_s);
}

/* Prints what the configuration asks for, in DeepSpeed's words. */
static void say_more(struct progress *progress, const struct step *step,
                     const struct step_result *result, double seconds)
{
    const struct ds_config *config = step->config;
    const bool              is_speed = config->steps_per_print > 0;

    if (progress->has_line &&
        (is_speed || config->wall_clock_breakdown || config->memory_breakdown)) {
        fputc('\n', stdout);
        progress->has_line = false;
    }
    if (is_speed)
        say_speed(progress, step, seconds);
    if (config->wall_clock_breakdown)
        printf("time (ms) | fwd: %.2f | bwd: %.2f | step: %.2f\n",
               1e3 * result->seconds[STEP_FORWARD], 1e3 * result->seconds[STEP_BACKWARD],
               1e3 * result->seconds[STEP_UPDATE]);
    if (config->memory_breakdown)
        printf("memory (MiB) | fwd: %.2f | bwd: %.2f | step: %.2f | most: %.2f\n",
               result->mib[STEP_FORWARD], result->mib[STEP_BACKWARD], result->mib[STEP_UPDATE],
               memory_in_use().most);
    fflush(stdout);
}

/* Prints the line that scripts look for. */
static void say_speed(const struct progress *progress, const struct step *step, double seconds)
{
    const struct state *state = step->state;
    const int64_t       batch = step->config->train_batch_size;
    const double        all_s = (double)(progress->last_ns - progress->start_ns) / NS_PER_S;
    const struct memory memory = memory_in_use();

    printf("epoch=%" PRIu64 "/micro_step=%" PRId64 "/global_step=%" PRId64
           ", RunningAvgSamplesPerSec=%.6g, CurrSamplesPerSec=%.6g, MemAllocated=%.2fGB, "
           "MaxMemAllocated=%.2fGB\n",
           (uint64_t)state->samples / step->samples->data->samples,
           state->step * step->config->accumulation_steps, state->step,
           (double)((state->step - progress->first) * batch) / all_s, (double)batch / seconds,
           memory.now / 1024, memory.most / 1024);
}

static void say_skipped(const struct step *step, const struct step_result *result)
{
    const struct world       *world = step->world;
    const bool                is_sum = world->size > 1 && result->bad_rank < 0;
    const struct model_param *param = NULL;

    if (result->zero.bad >= 0)
        param = model_param_at(step->model, (size_t)result->zero.bad);
    fprintf(stderr, "muster-train: step %" PRId64 ": the gradient of %s", step->state->step,
            param != NULL ? param->name : "a parameter");
    if (world->size > 1 && !is_sum)
        fprintf(stderr, " on %s", world->roster.label[result->bad_rank]);
    fprintf(stderr, "%s is not finite%s; step skipped", is_sum ? ", finite on each rank," : "",
            is_sum ? " in their sum" : "");
    if (result->scale != step->state->scale.scale)
        fprintf(stderr, ", the loss scale is now %g", step->state->scale.scale);
    fputc('\n', stderr);
}

static void say_duration(double seconds)
{
    const int64_t whole = (int64_t)(seconds + 0.5);

    if (whole >= 3600)
        printf("  %" PRId64 " h %02" PRId64 " min left", whole / 3600, whole % 3600 / 60);
    else if (whole >= 60)
        printf("  %" PRId64 " min %02" PRId64 " s left", whole / 60, whole % 60);
    else
        printf("  %" PRId64 " s left", whole);
}

void progress_clear(struct progress *progress)
{
    if (progress->has_line)
        fputs("\r\033[K", stdout);
    progress->has_line = false;
    fflush(stdout);
}
