/* progress.c - see progress.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"

#define EVERY 10 /* where the configuration does not say */

static void say_skipped(const struct step *step, const struct step_result *result);
static void say_duration(double seconds);
static void say_parts(struct progress *progress, const struct step_result *result);

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
}

void progress_step(struct progress *progress, const struct step *step,
                   const struct step_result *result)
{
    const int64_t now = step->state->step;
    const double  seconds = (double)(clock_now_ns() - progress->start_ns) / NS_PER_S;
    const double  each = seconds / (double)(now - progress->first);

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
    if (step->config->wall_clock_breakdown && (now % progress->every == 0 || now == progress->last))
        say_parts(progress, result);
}

/* As DeepSpeed has it. */
static void say_parts(struct progress *progress, const struct step_result *result)
{
    if (progress->has_line)
        fputc('\n', stdout);
    progress->has_line = false;
    printf("time (ms) | fwd: %.2f | bwd: %.2f | step: %.2f\n", 1e3 * result->seconds[STEP_FORWARD],
           1e3 * result->seconds[STEP_BACKWARD], 1e3 * result->seconds[STEP_UPDATE]);
    fflush(stdout);
}

static void say_skipped(const struct step *step, const struct step_result *result)
{
    const struct model_param *param = NULL;

    if (result->zero.bad >= 0)
        param = model_param_at(step->model, (size_t)result->zero.bad);
    fprintf(stderr, "muster-train: step %" PRId64 ": the gradient of %s is not finite: skipped",
            step->state->step, param != NULL ? param->name : "a parameter");
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
