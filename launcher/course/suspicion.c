/* suspicion.c - see suspicion.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/suspicion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "course/ending.h"
#include "course/generation_words.h"
#include "elastic/leave_out.h"
#include "history/suspects.h"
#include "hook/event.h"
#include "hostrange.h"
#include "log.h"
#include "run/events.h"
#include "run/pool.h"
#include "run/run.h"
#include "thread.h"
#include "xalloc.h"

#define END_S 5 /* for a thread that still writes when the run is over */

/* What a thread writes for us. Each thread first waits for the one before it. */
struct writing {
    struct writing *before; /* NULL: there is none */
    pthread_t       thread;
    char           *directory;
    struct suspect  suspect; /* reason NULL: it is none any more */
    bool            has_failed;
    struct error    why;
};

/* A node that has spoilt the generation which is over. */
struct spoiler {
    size_t which; /* of the members */
    char  *reason;
    bool   is_left_out, has_evidence;
};

struct suspicion {
    struct leave_out state;
    struct spoiler  *spoiler;
    size_t           count;
    size_t           wrong; /* a member that was left out without a reason; MEMBERSHIP_NONE */
    struct writing  *last;  /* NULL: nothing was written */
};

static bool   is_spoilt(const struct policy_event *event);
static struct leave_out_end  end_of(const struct run *run, const struct policy_event *event);
static int    first_rank(const struct run *run);
static struct leave_out_sign *signs_of(const struct run *run, size_t *count);
static bool   is_of_node(const struct evidence_item *item);
static void   judge_node(struct run *run, const struct leave_out_end *end, size_t which,
                         struct policy_event *event);
static char  *counted_words(const struct run *run, const struct leave_out_end *end);
static char  *broken_words(const struct run *run, size_t sign);
static void   tell_shared(const struct run *run, const struct leave_out_end *end);
static void   tell_wrong(struct run *run);
static void   tell_spoiler(struct run *run, const struct spoiler *spoiler, bool goes_on);
static void   keep(struct run *run, const char *host, const char *reason);
static void  *write_cb(void *arg);

void suspicion_open(struct run *run)
{
    run->suspicion = xcalloc(1, sizeof *run->suspicion);
    run->suspicion->state = leave_out_new(run->options->leave_out);
    run->suspicion->wrong = MEMBERSHIP_NONE;
}

/* If a thread hangs in the file system, its data is never freed. */
void suspicion_close(struct suspicion *suspicion)
{
    struct timespec until = { 0 };
    struct writing *writing;

    if (suspicion == NULL)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    if (suspicion->last != NULL &&
        pthread_timedjoin_np(suspicion->last->thread, NULL, &until) != 0)
        return;
    while ((writing = suspicion->last) != NULL) {
        suspicion->last = writing->before;
        if (writing->has_failed)
            log_warn("the next run will not know that %s is a suspect: %s",
                     writing->suspect.host, writing->why.text);
        free(writing->directory);
        free(writing->suspect.host);
        free(writing->suspect.reason);
        free(writing->suspect.run_id);
        free(writing);
    }
    while (suspicion->count > 0)
        free(suspicion->spoiler[--suspicion->count].reason);
    free(suspicion->spoiler);
    free(suspicion);
}

/* --- a generation is over ---------------------------------------------------- */

void suspicion_judge(struct run *run, struct policy_event *event)
{
    struct suspicion      *suspicion = run->suspicion;
    struct leave_out_end   end;
    struct leave_out_sign *signs;
    size_t                 place;

    if (!is_spoilt(event) || run->options->leave_out == LEAVE_OUT_NEVER)
        return;
    end = end_of(run, event);
    end.sign = signs = signs_of(run, &end.signs);
    suspicion->wrong = leave_out_count(&suspicion->state, &end);
    if (suspicion->wrong != LEAVE_OUT_NONE)
        membership_trust(pool_members(run), suspicion->wrong);
    for (place = 0; place < run->plan->nodes; place++)
        judge_node(run, &end, pool_members(run)->place[place], event);
    tell_shared(run, &end);
    free(signs);
}

static bool is_spoilt(const struct policy_event *event)
{
    return !event->is_first_start &&
           (event->end == POLICY_END_RANK || event->end == POLICY_END_HANG ||
            event->end == POLICY_END_NODE);
}

static struct leave_out_end end_of(const struct run *run, const struct policy_event *event)
{
    const struct outcome *outcome = &run->outcome;
    struct leave_out_end  end = { .node = LEAVE_OUT_NONE, .place = LEAVE_OUT_NONE,
                                  .are_alike = event->are_alike };
    const int             rank = first_rank(run);
    size_t                place;

    if (event->end == POLICY_END_RANK && rank >= 0 &&
        outcome->node_of[rank] != OUTCOME_NOT_OURS) {
        end.place = outcome->node_of[rank];
        end.node = pool_members(run)->place[end.place];
    } else if (event->end == POLICY_END_NODE && outcome_first(outcome, &place) == FIRST_NODE) {
        end.node = pool_members(run)->place[place];
    }
    return end;
}

/* -1: there is none. */
static int first_rank(const struct run *run)
{
    return run->outcome.first_rank >= 0 ? run->outcome.first_rank : run->outcome.aborted_by;
}

/* By item of the outcome's evidence, but for what says nothing of the node. */
static struct leave_out_sign *signs_of(const struct run *run, size_t *count)
{
    const struct evidence *evidence = &run->outcome.evidence;
    struct leave_out_sign *signs = xcalloc(evidence->count + 1, sizeof *signs);
    size_t                 i;

    *count = evidence->count;
    for (i = 0; i < evidence->count; i++) {
        const struct evidence_item *item = &evidence->item[i];

        signs[i] = (struct leave_out_sign){
            .node = is_of_node(item) ? pool_members(run)->place[item->node] : LEAVE_OUT_NONE,
            .is_broken = item->severity == EVIDENCE_BROKEN,
            .kind = item->kind,
            .at_s = (double)item->at_ns / NS_PER_S,
        };
    }
    return signs;
}

/* That memory was too small is a matter of the program. */
static bool is_of_node(const struct evidence_item *item)
{
    return item->severity >= EVIDENCE_ERROR && strncmp(item->kind, "oom", 3) != 0;
}

static void judge_node(struct run *run, const struct leave_out_end *end, size_t which,
                       struct policy_event *event)
{
    struct suspicion  *suspicion = run->suspicion;
    size_t             sign = 0;
    enum leave_out_why why = leave_out_judge(&suspicion->state, end, which, &sign);
    struct spoiler     spoiler = { .which = which, .has_evidence = why == LEAVE_OUT_BROKEN };

    if (why == LEAVE_OUT_STAYS)
        return;
    spoiler.reason = spoiler.has_evidence ? broken_words(run, sign) : counted_words(run, end);
    spoiler.is_left_out =
        run_goes_on(run) && leave_out_node(&suspicion->state, end, why, pool_members(run),
                                           &run->rules.members, which, spoiler.reason,
                                           event->now_s);
    event->is_cured = event->is_cured || spoiler.is_left_out;
    if (spoiler.is_left_out && spoiler.has_evidence && end->sign[sign].is_broken)
        event->end = POLICY_END_NODE;
    suspicion->spoiler = xreallocarray(suspicion->spoiler, suspicion->count + 1,
                                       sizeof *suspicion->spoiler);
    suspicion->spoiler[suspicion->count++] = spoiler;
}

static char *broken_words(const struct run *run, size_t sign)
{
    const struct evidence_item *item = &run->outcome.evidence.item[sign];
    char                       *what = evidence_words(item);
    char                       *words = xasprintf("%s: %s", item->source, what);

    free(what);
    return words;
}

static char *counted_words(const struct run *run, const struct leave_out_end *end)
{
    struct failed_rank failed = { .rank = first_rank(run) };
    char               why[GENERATION_WORDS_SIZE] = "the node was lost";

    if (end->place != LEAVE_OUT_NONE && run->outcome.first_rank >= 0)
        generation_rank_words(run, &failed, why);
    if (run->suspicion->state.in_a_row == 1)
        return xasprintf("a generation ended first there (%s)", why);
    return xasprintf("%d generations in a row ended first there (%s)",
                     run->suspicion->state.in_a_row, why);
}

/* Evidence that might have left out a node, if others had not had the same. */
static void tell_shared(const struct run *run, const struct leave_out_end *end)
{
    struct strlist hosts = { 0 };
    char          *names, *words;
    size_t         i, j;

    for (i = 0; i < end->signs && run->options->leave_out == LEAVE_OUT_EVIDENCE; i++) {
        if (end->sign[i].node == LEAVE_OUT_NONE || !leave_out_is_shared(end, i) ||
            (!end->sign[i].is_broken && end->sign[i].node != end->node))
            continue;
        for (j = 0; j < end->signs; j++)
            if (end->sign[j].node != LEAVE_OUT_NONE &&
                strcmp(end->sign[j].kind, end->sign[i].kind) == 0 &&
                !strlist_has(&hosts, pool_name(run, end->sign[j].node)))
                strlist_add(&hosts, pool_name(run, end->sign[j].node));
        names = hostrange_fold(&hosts);
        words = evidence_words(&run->outcome.evidence.item[i]);
        log_note("%s: %s: several nodes at the same time, so it is of what they share, and none "
                 "is left out for it",
                 names, words);
        free(words);
        free(names);
        strlist_clear(&hosts);
        return; /* one cause is enough */
    }
}

/* --- what follows is decided -------------------------------------------------- */

void suspicion_tell(struct run *run, bool goes_on)
{
    struct suspicion *suspicion = run->suspicion;
    size_t            i;

    if (suspicion->wrong != MEMBERSHIP_NONE)
        tell_wrong(run);
    suspicion->wrong = MEMBERSHIP_NONE;
    for (i = 0; i < suspicion->count; i++) {
        tell_spoiler(run, &suspicion->spoiler[i], goes_on);
        free(suspicion->spoiler[i].reason);
    }
    suspicion->count = 0;
}

static void tell_wrong(struct run *run)
{
    struct suspicion *suspicion = run->suspicion;
    const char       *host = pool_name(run, suspicion->wrong);

    log_warn("%s: a rank has failed first on the node in its place, too, so this node was not the "
             "cause: from now on only evidence leaves nodes out",
             host);
    outcome_trust(&run->outcome, host);
    keep(run, host, NULL);
}

/* The user learns once that a node stays. Without evidence the program is as likely the cause. */
static void tell_spoiler(struct run *run, const struct spoiler *spoiler, bool goes_on)
{
    const char *host = pool_name(run, spoiler->which);
    const bool  is_left_out = goes_on && spoiler->is_left_out;
    const char *then = is_left_out ? "left out from now on"
                       : goes_on   ? "stays, since no other node can take its place"
                                   : "a suspect, of which the next run will warn";

    if (!is_left_out &&
        (!spoiler->has_evidence || outcome_is_suspect(&run->outcome, host))) {
        log_info("%s: %s", host, spoiler->reason);
        return;
    }
    log_warn("%s: %s: %s (--leave-out)", host, then, spoiler->reason);
    outcome_suspect(&run->outcome, host, spoiler->reason, is_left_out);
    events_tell(run, "suspect",
                json_pack("{s:o, s:b, s:o}", "node", event_string(host, EVENT_TEXT_MAX),
                          "left_out", (int)is_left_out, "reason",
                          event_string(spoiler->reason, EVENT_TEXT_MAX)),
                "%s: %s: %s", host, then, spoiler->reason);
    keep(run, host, spoiler->reason);
}

/* --- the user's next runs ------------------------------------------------------ */

/* reason NULL: the host is no suspect any more. */
static void keep(struct run *run, const char *host, const char *reason)
{
    struct suspicion *suspicion = run->suspicion;
    struct writing   *writing;
    char             *directory = suspects_directory();

    if (directory == NULL)
        return;
    writing = xcalloc(1, sizeof *writing);
    *writing = (struct writing){
        .before = suspicion->last,
        .directory = directory,
        .suspect = { .host = xstrdup(host),
                     .reason = reason != NULL ? xstrdup(reason) : NULL,
                     .run_id = xstrdup(run->plan->run_id),
                     .since = time(NULL) },
    };
    if (thread_start(&writing->thread, write_cb, writing) == 0) {
        suspicion->last = writing;
        return;
    }
    log_warn("%s: muster has no thread to note that it is a suspect", host);
    free(writing->directory);
    free(writing->suspect.host);
    free(writing->suspect.reason);
    free(writing->suspect.run_id);
    free(writing);
}

static void *write_cb(void *arg)
{
    struct writing *writing = arg;
    int             rc;

    if (writing->before != NULL)
        pthread_join(writing->before->thread, NULL);
    if (writing->suspect.reason != NULL)
        rc = suspects_add(writing->directory, &writing->suspect, &writing->why);
    else
        rc = suspects_remove(writing->directory, writing->suspect.host, &writing->why);
    writing->has_failed = rc < 0;
    return NULL;
}
