/* checkpoint_log.c - see checkpoint_log.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/checkpoint_log.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define NS_PER_SECOND 1e9

void checkpoint_log_clear(struct checkpoint_log *log)
{
    free(log->path);
    free(log->says);
    *log = (struct checkpoint_log){ 0 };
}

bool checkpoint_log_add(struct checkpoint_log *log, const struct checkpoint *checkpoint)
{
    if (log->count > 0 && checkpoint->file_ns == log->file_ns &&
        strcmp(checkpoint->path, log->path) == 0)
        return false;
    free(log->path);
    free(log->says);
    log->path = xstrdup(checkpoint->path);
    log->says = xstrdup(checkpoint->says);
    log->file_ns = checkpoint->file_ns;
    log->at_s = log->since_s = checkpoint->at_s;
    log->save_s = checkpoint->save_s;
    log->usual_save_s = step_pace_median_s(&log->saves);
    if (checkpoint->save_s >= 0)
        step_pace_add(&log->saves, checkpoint->save_s);
    step_pace_note(&log->pace, (double)checkpoint->file_ns / NS_PER_SECOND);
    log->count++;
    log->is_new = true;
    log->is_late = false;
    return true;
}

bool checkpoint_log_is_slow(const struct checkpoint_log *log)
{
    const double usual_s = log->usual_save_s;

    return log->count > 0 && usual_s >= 0 && log->save_s >= CHECKPOINT_SLOW_TIMES * usual_s &&
           log->save_s >= usual_s + CHECKPOINT_SLOW_S;
}

void checkpoint_log_again(struct checkpoint_log *log, double now_s)
{
    step_pace_again(&log->pace);
    log->since_s = now_s;
    log->is_new = log->is_late = false;
}

double checkpoint_log_median_s(const struct checkpoint_log *log)
{
    return step_pace_median_s(&log->pace);
}

double checkpoint_log_late_s(const struct checkpoint_log *log)
{
    double median_s = checkpoint_log_median_s(log), limit_s = CHECKPOINT_LATE_TIMES * median_s;

    if (median_s < 0 || log->is_late)
        return -1;
    if (limit_s < median_s + CHECKPOINT_LATE_S)
        limit_s = median_s + CHECKPOINT_LATE_S;
    return log->since_s + limit_s;
}

bool checkpoint_log_is_late(struct checkpoint_log *log, double now_s)
{
    double late_s = checkpoint_log_late_s(log);

    if (late_s < 0 || now_s < late_s)
        return false;
    log->is_late = true;
    return true;
}
