/* plan.h - what to do next for a job: a pure function of what is observed
 *
 * Whoever carries out the actions may be killed after any of them: who comes next observes, and
 * plans the same end. Now: create, wait, end, clean up. Retries (backoffLimit), scale, pause and
 * resume will be decided here, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_PLAN_H
#define MUSTER_LIFE_PLAN_H

#include "job/job.h"
#include "life/observed.h"

#define PLAN_IMAGE_S  30 /* an image whose pull fails for that long is wrong */
#define PLAN_WORKER_S 60 /* muster notices a dead worker in that time */

enum action_kind {
    ACTION_CREATE,
    ACTION_DELETE,
    ACTION_RECORD, /* keep outcome, exit_code and why in the anchor */
};

struct action {
    enum action_kind kind;
    size_t           number; /* of the object, as in objects.h */
};

struct plan {
    struct action *action;
    size_t         count;
    enum outcome   outcome; /* OUTCOME_NONE: it is running, or waiting */
    bool           is_deleted; /* the anchor is gone: somebody has deleted the job */
    int            exit_code;
    char           why[800]; /* in one line: what is waited for, or how it ended */
};

/* now_s: since 1970; the clocks of this machine and the server are taken to agree. A plan that
 * has ended and has no action is final. End with plan_clear(). */
void plan_make(struct plan *plan, const struct job *job, const struct observed *observed,
               int64_t now_s);
void plan_clear(struct plan *plan);

#endif
