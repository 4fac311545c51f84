/* plan.h - what to do next for a job: a pure function of what is observed
 *
 * muster may be killed after any action: the next muster observes the job, and plans the same
 * end. Two may act at once: the server tells one what the other has already done; it observes
 * that and plans again.
 *
 * A job has attempts. An attempt ends with its launcher. If it has failed and retries are left,
 * or after a pause or a change of the number of workers, the next attempt begins. muster keeps
 * healthy workers and replaces, under the same names, Pods that have ended or were made for
 * another number of workers; the new launcher starts the run again. Waiting never counts as a
 * failure. If a worker vanishes while the launcher runs, muster replaces it when the launcher
 * has ended because of that, or after PLAN_WORKER_S.
 *
 * The run of an elastic job continues: muster replaces a lost worker at once, and writes
 * another number of workers into the hostfile, which the launcher watches. It adds a new worker
 * to the hostfile once that is ready. Workers with the highest numbers leave first. muster
 * removes them from the hostfile; their Pods end when the launcher has released them
 * (muster-init --leave), and muster then deletes the Pods.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_PLAN_H
#define MUSTER_LIFE_PLAN_H

#include "job/job.h"
#include "life/observed.h"

#define PLAN_IMAGE_S  30 /* an image whose pull fails this long is wrong */
#define PLAN_WORKER_S 60 /* muster notices a dead worker in this time */
#define PLAN_TELL_S   20 /* for the cluster to say why a launcher has lost a worker */
/* How long a leaving worker waits for the launcher to release it: ranks may save for 300 s from
 * when the launcher's node has updated the hostfile, and then have a grace period. */
#define PLAN_LEAVE_S  540
#define PLAN_AGAIN_S  10 /* from a worker's end to its replacement */
#define PLAN_PAIR_S   30 /* for another muster to create the second of two Secrets */

enum action_kind {
    ACTION_CREATE,
    ACTION_DELETE,
    ACTION_RECORD,  /* store outcome, exit_code and why in the anchor */
    ACTION_ATTEMPT, /* store attempts in the anchor */
    ACTION_LINES,   /* store the last lines of a failed Pod in the anchor */
    ACTION_HOSTS,   /* elastic job: write plan->hosts workers into the hostfile */
    ACTION_TELL,    /* change the launcher's Pod, so that it gets that hostfile now */
    ACTION_NODES,   /* store the workers' nodes and their classes in the hosts */
    ACTION_CHANGE,  /* store the job that the custom resource asks for in the anchor */
};

struct action {
    enum action_kind kind;
    size_t           number; /* of the object, as in objects.h */
    char             uid[64]; /* of the object to delete */
};

struct plan {
    struct action *action;
    size_t         count;
    struct attempts attempts; /* from now on */
    enum outcome   outcome; /* OUTCOME_NONE: the job runs or waits */
    bool           is_deleted; /* the anchor is gone: the job was deleted */
    int            exit_code;
    bool           is_running; /* the job waits for nothing */
    bool           is_unsettled; /* an object must vanish, or come from another muster, first */
    int64_t        hosts;
    char           why[800]; /* in one line: what the job waits for, or how it ended */
};

/* now_s: since 1970, by the API server's clock, like the times in the job's objects. The clocks
 * of nodes need not agree with it if observed_see() was called before. A plan with an outcome
 * and without actions is final, except that the anchor is deleted when the job's time to live
 * is over. Free with plan_clear(). */
void plan_make(struct plan *plan, const struct job *job, const struct observed *observed,
               int64_t now_s);
void plan_clear(struct plan *plan);

#endif
