/* plan.h - what to do next for a job: a pure function of what is observed
 *
 * Whoever carries out the actions may be killed after any of them: who comes next observes, and
 * plans the same end. Two may do so at once: what one has done already, the other gets told by the
 * server, observes, and plans anew.
 *
 * A job has attempts. One ends with its launcher. If it has failed and there are retries left, and
 * after a pause or a change of the number of workers, the next one begins: Pods that have ended or
 * are of another size are replaced under the same names, and with the launcher the run starts
 * again; workers that are well are kept. Waiting never counts as a failure. A worker that is gone
 * while the launcher runs is replaced when that has ended of it, or has not for PLAN_WORKER_S.
 *
 * The run of an elastic job goes on: a lost worker is replaced at once, and another number of
 * workers becomes another hostfile, which the launcher watches. A new worker is in it once it is
 * ready. One that is to go is taken out of it first, those with the highest numbers; its Pod ends
 * when the launcher has let it go (muster-init --leave), and is deleted then.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_PLAN_H
#define MUSTER_LIFE_PLAN_H

#include "job/job.h"
#include "life/observed.h"

#define PLAN_IMAGE_S  30 /* an image whose pull fails for that long is wrong */
#define PLAN_WORKER_S 60 /* muster notices a dead worker in that time */
#define PLAN_TELL_S   20 /* after a launcher has lost a worker, for the cluster to say why */
/* A worker that is to go waits so long for the launcher to let it go: ranks may save for 300 s from
 * when the launcher's node has brought it the hostfile, and have a grace then. */
#define PLAN_LEAVE_S  540
#define PLAN_AGAIN_S  10 /* between a worker's end and the next one in its place */
#define PLAN_PAIR_S   30 /* the other of two Secrets may still come from another muster */

enum action_kind {
    ACTION_CREATE,
    ACTION_DELETE,
    ACTION_RECORD,  /* keep outcome, exit_code and why in the anchor */
    ACTION_ATTEMPT, /* keep attempts in the anchor */
    ACTION_LINES,   /* keep the last lines of a failed Pod in the anchor */
    ACTION_HOSTS,   /* of an elastic job: the hostfile has so many workers as plan->hosts says */
    ACTION_TELL,    /* the launcher's Pod, so that it gets that hostfile now */
    ACTION_NODES,   /* the hosts have the nodes of the workers, and their classes */
    ACTION_CHANGE,  /* keep the job that the custom resource asks for in the anchor */
};

struct action {
    enum action_kind kind;
    size_t           number; /* of the object, as in objects.h */
    char             uid[64]; /* of what is to be deleted */
};

struct plan {
    struct action *action;
    size_t         count;
    struct attempts attempts; /* as they are from now on */
    enum outcome   outcome; /* OUTCOME_NONE: it is running, or waiting */
    bool           is_deleted; /* the anchor is gone: somebody has deleted the job */
    int            exit_code;
    bool           is_running; /* nothing is waited for */
    bool           is_unsettled; /* something has to go, or come from another muster, first */
    int64_t        hosts;
    char           why[800]; /* in one line: what is waited for, or how it ended */
};

/* now_s: since 1970, by the API server's clock, as the times that others have written into the
 * job's objects. The clocks of nodes need not agree with it, where observed_see() was called
 * before. A plan that has ended and has no action is final, but for the deletion of the anchor when
 * the job's time to live is over. End with plan_clear(). */
void plan_make(struct plan *plan, const struct job *job, const struct observed *observed,
               int64_t now_s);
void plan_clear(struct plan *plan);

#endif
