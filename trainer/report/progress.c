/* progress.c - see progress.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "report/memory.h"

#define EVERY 10 /* steps, unless the configuration sets steps_per_print */

static void say_duration(double seconds);
static void say_more(struct progress *progress, const struct figures *figures, double seconds);
static void say_speed(const struct progress *progress, const struct figures *figures,
                      double seconds);

void progress_begin(struct progress *progress, int64_t step)
{
    const int64_t every = progress->config->steps_per_print;

    progress->every = every > 0 ? every : EVERY;
    progress->is_tty = isatty(STDOUT_FILENO) == 1;
    progress->start_ns = progress->last_ns = clock_now_ns();
    progress->first = step;
}

void progress_step(struct progress *progress, const struct figures *figures)
{
    const int64_t now = figures->step;
    const int64_t now_ns = clock_now_ns();
    const double  each = (double)(now_ns - progress->start_ns) / NS_PER_S /
                        (double)(now - progress->first);
    const double  this_s = (double)(now_ns - progress->last_ns) / NS_PER_S;
    const double  tokens = (double)progress->config->train_batch_size * (double)progress->length;

    progress->last_ns = now_ns;
    if (progress->is_silent)
        return;
    if (!progress->is_tty && now % progress->every != 0 && now != progress->last &&
        now != progress->first + 1)
        return;
    printf("%sstep %" PRId64 "/%" PRId64 "  loss %.6f  lr %.3e", progress->is_tty ? "\r" : "",
           now, progress->last, figures->loss, figures->lr);
    if (!isnan(figures->norm))
        printf("  norm %.4g", figures->norm);
    if (figures->scale != 1)
        printf("  scale %g", figures->scale);
    printf("  %.0f tokens/s", tokens / each);
    say_duration(each * (double)(progress->last - now));
    fputs(progress->is_tty ? "\033[K" : "\n", stdout);
    fflush(stdout);
    progress->has_line = progress->is_tty;
    if (now % progress->every == 0 || now == progress->last)
        say_more(progress, figures, this_s);
}

/* Prints what the configuration asks for, in DeepSpeed's words. */
static void say_more(struct progress *progress, const struct figures *figures, double seconds)
{
    const struct ds_config *config = progress->config;
    const bool              is_speed = config->steps_per_print > 0;

    if (progress->has_line &&
        (is_speed || config->wall_clock_breakdown || config->memory_breakdown)) {
        fputc('\n', stdout);
        progress->has_line = false;
    }
    if (is_speed)
        say_speed(progress, figures, seconds);
    if (config->wall_clock_breakdown)
        printf("time (ms) | fwd: %.2f | bwd: %.2f | step: %.2f\n",
               1e3 * figures->seconds[STEP_FORWARD], 1e3 * figures->seconds[STEP_BACKWARD],
               1e3 * figures->seconds[STEP_UPDATE]);
    if (config->memory_breakdown)
        printf("memory (MiB) | fwd: %.2f | bwd: %.2f | step: %.2f | most: %.2f\n",
               figures->mib[STEP_FORWARD], figures->mib[STEP_BACKWARD],
               figures->mib[STEP_UPDATE], memory_in_use().most);
    fflush(stdout);
}

/* Prints the line that scripts look for. */
static void say_speed(const struct progress *progress, const struct figures *figures,
                      double seconds)
{
    const int64_t       batch = progress->config->train_batch_size;
    const double        all_s = (double)(progress->last_ns - progress->start_ns) / NS_PER_S;
    const struct memory memory = memory_in_use();

    printf("epoch=%" PRIu64 "/micro_step=%" PRId64 "/global_step=%" PRId64
           ", RunningAvgSamplesPerSec=%.6g, CurrSamplesPerSec=%.6g, MemAllocated=%.2fGB, "
           "MaxMemAllocated=%.2fGB\n",
           (uint64_t)figures->samples / progress->epoch,
           figures->step * progress->config->accumulation_steps, figures->step,
           (double)((figures->step - progress->first) * batch) / all_s, (double)batch / seconds,
           memory.now / 1024, memory.most / 1024);
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
