/* checkpoint_log.h - the checkpoints of a world that muster has seen, and when another is due
 *
 * Plain arithmetic: it reads no clock. Pauses between two checkpoints are by the times of their
 * files, which one clock has made; all other times are by the caller's clock.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECKPOINT_LOG_H
#define MUSTER_CHECKPOINT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elastic/step_pace.h"

#define CHECKPOINT_LATE_TIMES 3.0  /* the median pause between two: then one is late */
#define CHECKPOINT_LATE_S     60.0 /* but only if it is late by this, too */
#define CHECKPOINT_SLOW_TIMES 3.0  /* the median save: then one was slow */
#define CHECKPOINT_SLOW_S     5.0  /* but only if it took that much longer, too */

struct checkpoint {
    const char *path; /* of the file that names it */
    const char *says; /* its first line if it is short, or "" */
    int64_t     file_ns; /* its time, by the clock of its file system */
    double      at_s; /* the same by the caller's clock */
    double      save_s; /* from the last step before it; negative: not known */
};

/* Starts as { 0 }. Only checkpoint_log.c writes it. */
struct checkpoint_log {
    size_t           count;
    char            *path, *says; /* of the last one, as all below */
    int64_t          file_ns;
    double           at_s, save_s;
    struct step_pace pace;    /* of the pauses between two in one generation */
    struct step_pace saves;   /* of how long each save took */
    double           usual_save_s; /* the median of the saves before; negative: too few */
    double           since_s; /* when the time until the next one began */
    bool             is_new;  /* one was seen in this generation */
    bool             is_late; /* checkpoint_log_is_late() has said so */
};

void checkpoint_log_clear(struct checkpoint_log *log);

/* False: it is the last one, which is known already. */
bool checkpoint_log_add(struct checkpoint_log *log, const struct checkpoint *checkpoint);
/* Did the last one take far longer than those before it? */
bool checkpoint_log_is_slow(const struct checkpoint_log *log);
/* The ranks start again: the time until their first checkpoint begins at now_s, and is no pause. */
void checkpoint_log_again(struct checkpoint_log *log, double now_s);

/* Returns the median of the last pauses; negative: there were not enough. */
double checkpoint_log_median_s(const struct checkpoint_log *log);
/* Returns when the next one is late; negative: not known, or it is and that was said. */
double checkpoint_log_late_s(const struct checkpoint_log *log);
/* Is it late now? True once for each. */
bool checkpoint_log_is_late(struct checkpoint_log *log, double now_s);

#endif
