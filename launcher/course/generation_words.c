/* generation_words.c - see generation_words.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/generation_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course/checkpoints.h"
#include "course/ending.h"
#include "course/world.h"
#include "elastic/next_world.h"
#include "hostrange.h"
#include "log.h"
#include "run/hang.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/steps.h"
#include "xalloc.h"

#define NUMBERS_SIZE 100

static void node_words(const struct run *run, const char *lost, size_t node, char *text);
static void number_words(const struct plan *plan, char text[NUMBERS_SIZE]);
static const struct plan *known_world(const struct run *run, const struct plan *world);

/* --- how a generation ended ------------------------------------------------- */

void generation_why_words(const struct run *run, const char *lost,
                          char text[GENERATION_WORDS_SIZE])
{
    const struct outcome *outcome = &run->outcome;
    const struct plan    *plan = run->plan;
    const struct failed_rank first = { .rank = outcome->first_rank };
    size_t                node, where;
    const char           *holder = rendezvous_port_holder(run->rendezvous, &where);

    if (holder != NULL)
        snprintf(text, GENERATION_WORDS_SIZE,
                 "%s: MASTER_PORT %d was taken by %s before rank 0 could bind it",
                 plan->node[where].host, plan_world(plan, where)->master_port, holder);
    else if (outcome_first(outcome, &node) == FIRST_RANK) {
        generation_rank_words(run, &first, text);
        if (notice_was_given(run->notice) && run_goes_on(run))
            snprintf(text + strlen(text), GENERATION_WORDS_SIZE - strlen(text),
                     ", after the notice");
    } else if (outcome_first(outcome, &node) == FIRST_NODE) {
        node_words(run, lost, node, text);
    } else {
        snprintf(text, GENERATION_WORDS_SIZE, "%s",
                 outcome->cause_text != NULL ? outcome->cause_text : "");
    }
}

void generation_rank_words(const struct run *run, const struct failed_rank *failed,
                           char text[GENERATION_WORDS_SIZE])
{
    const struct outcome   *outcome = &run->outcome;
    const struct plan_node *node = &run->plan->node[outcome->node_of[failed->rank]];
    char                    name[PLAN_RANK_NAME];
    int                     used;

    plan_rank_name(run->plan, failed->rank, name);
    if (failed->is_abort) {
        snprintf(text, GENERATION_WORDS_SIZE, "%s on %s aborted the run (PMI abort, code %d)",
                 name, node->host, failed->code);
        return;
    }
    used = snprintf(text, GENERATION_WORDS_SIZE, "%s on %s: ", name, plan_label(node));
    if (used > 0 && used < GENERATION_WORDS_SIZE)
        rank_end_words(&outcome->rank[failed->rank], text + used,
                       (size_t)(GENERATION_WORDS_SIZE - used));
}

/* "node te3 lost (silent 15 s)", or "nodes te[3-4] lost (...)", or "node te3 could not start its
 * ranks (...)", or "node te3 not fit (...)". */
static void node_words(const struct run *run, const char *lost, size_t node, char *text)
{
    static const char heard[] = "nothing heard for ";
    const char       *why = run->outcome.node[node]->text;
    bool              is_silent = strncmp(why, heard, strlen(heard)) == 0;

    if (lost == NULL)
        lost = plan_label(&run->plan->node[node]);
    snprintf(text, GENERATION_WORDS_SIZE, "node%s %s %s (%s%s)",
             strpbrk(lost, ",[") != NULL ? "s" : "", lost,
             conn_failure_is_health(run->outcome.node[node])     ? "not fit"
             : conn_failure_is_no_start(run->outcome.node[node]) ? "could not start its ranks"
                                                                 : "lost",
             is_silent ? "silent " : "", is_silent ? why + strlen(heard) : why);
}

void generation_tell_port(const struct run *run, const struct policy_event *event)
{
    size_t      where;
    const char *holder = rendezvous_port_holder(run->rendezvous, &where);

    if (holder != NULL && event->end == POLICY_END_RANK)
        log_warn("%s: MASTER_PORT %d was taken by %s before rank 0 could bind it%s",
                 run->plan->node[where].host, plan_world(run->plan, where)->master_port, holder,
                 plan_world(run->plan, where)->options->master_port > 0
                     ? "; without --master_port muster chooses another one"
                     : "");
}

void generation_tell_end(const struct run *run, const char *role,
                         const struct policy_event *event, enum policy_why why,
                         const char *missing)
{
    char *no = role != NULL ? xasprintf("no restart of %s", role) : xstrdup("no restart");

    switch (why) {
    case POLICY_WHY_NODE:
        log_note("%s: not every node is there (%s)", no,
                 missing != NULL ? missing : "one has failed");
        break;
    case POLICY_WHY_NO_START:
        log_note("%s: the nodes that are there cannot start the ranks", no);
        break;
    case POLICY_WHY_CLASS:
        log_note("%s for exit code %d (%s; see --restart-on)", no, event->code,
                 exit_class_of(event->code, event->out_of_memory)->name);
        break;
    case POLICY_WHY_NOT_STARTED:
        log_note("%s: the program cannot be executed", no);
        break;
    case POLICY_WHY_YOUNG:
        log_note("%s: all ranks exited with code %d within %g s of the start, as in the last "
                 "generation",
                 no, event->code, POLICY_YOUNG_S);
        break;
    case POLICY_WHY_USED_UP:
        log_note("%s: --max-restarts %d is used up", no, run->options->max_restarts);
        break;
    case POLICY_WHY_NO_PROGRESS:
        log_error("%s: %s", no, run->outcome.given_up);
        break;
    case POLICY_WHY_LEFT:
        log_note("%s: a process of the last generation could not be killed", no);
        break;
    case POLICY_WHY_NONE:
    case POLICY_WHY_CHANGE:
    case POLICY_WHY_MAX_WAIT:
    case POLICY_WHY_RESTART:
    case POLICY_WHY_PORT:
    case POLICY_WHY_OFF:
    case POLICY_WHY_WANTED:
        break;
    }
    free(no);
}

char *generation_stall_words(const struct run *run, const struct plan *world, int stalls)
{
    const struct plan *known = known_world(run, world);
    const int64_t      step = steps_most(run, known);
    const char        *path = checkpoints_last(run, known);
    char *steps = xasprintf(" beyond step %lld (found by: %s)%s", (long long)step,
                            steps_form(run, known), path != NULL ? ", nor" : "");
    char *text = xasprintf("no progress: %d generation%s in a row did not get%s%s%s; find out why "
                           "before you start it again (--max-no-progress, exit status %d)",
                           stalls, stalls == 1 ? "" : "s", step >= 0 ? steps : "",
                           path != NULL ? " to a newer checkpoint than " : "",
                           path != NULL ? path : ", and there was no new checkpoint",
                           EXIT_NO_PROGRESS);

    free(steps);
    return text;
}

/* With several roles, the first one that has come somewhere. */
static const struct plan *known_world(const struct run *run, const struct plan *world)
{
    size_t i;

    for (i = 0; world == run->plan && i < run->plan->roles; i++)
        if (steps_most(run, &run->plan->role[i]) >= 0 ||
            checkpoints_last(run, &run->plan->role[i]) != NULL)
            return &run->plan->role[i];
    return world;
}

void generation_tell_suspects(const struct run *run)
{
    const struct membership *members = pool_members(run);
    const struct member     *member;
    size_t                   i;

    for (i = 0; i < members->count; i++) {
        member = &members->item[i];
        if (membership_is_left_out(members, i))
            continue;
        if (member->taken_down >= MEMBERSHIP_SUSPECT)
            log_warn("%s: %d generations ended because of this node: it is the likely cause",
                     pool_name(run, i), member->taken_down);
        else if (member->taken_down + member->failed_first >= MEMBERSHIP_SUSPECT &&
                 members->count > 1)
            log_warn("%s: %d generations ended because of this node, %d of them because a rank "
                     "on it failed first: it is the likely cause",
                     pool_name(run, i), member->taken_down + member->failed_first,
                     member->failed_first);
    }
}

/* --- the next generation ---------------------------------------------------- */

/* "; te5 takes its place", or for two nodes "; te5 takes the place of te3; ...". */
char *generation_changes(const struct run *run, const char *lost, const size_t *world,
                         size_t places)
{
    const struct membership *members = pool_members(run);
    bool                     is_full = places == members->places;
    char                    *text = NULL;
    size_t                   size, i;
    FILE                    *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    for (i = 0; i < places && is_full; i++)
        if (world[i] != members->place[i] && lost != NULL &&
            strcmp(lost, pool_name(run, members->place[i])) == 0)
            fprintf(out, "; %s takes its place", pool_name(run, world[i]));
        else if (world[i] != members->place[i])
            fprintf(out, "; %s takes the place of %s", pool_name(run, world[i]),
                    pool_name(run, members->place[i]));
    if (fclose(out) != 0)
        xalloc_die();
    return text;
}

static void number_words(const struct plan *plan, char text[NUMBERS_SIZE])
{
    snprintf(text, NUMBERS_SIZE, "%d %s on %zu %s", plan->world_size,
             plan->world_size == 1 ? "rank" : "ranks", plan->nodes,
             plan->nodes == 1 ? "node" : "nodes");
}

void generation_tell_same(const struct plan *world, const char *why, double delay_s, int restart)
{
    char when[40] = "", count[60] = "", numbers[NUMBERS_SIZE];

    number_words(world, numbers);
    if (delay_s > 0)
        snprintf(when, sizeof when, " in %g s", delay_s);
    if (restart > 0)
        snprintf(count, sizeof count, "; restart %d of %d", restart, world->max_restarts);
    log_note("%s%sgeneration %d: %s; %s start again%s%s",
             world->role_name != NULL ? world->role_name : "",
             world->role_name != NULL ? ", " : "", world->generation, why, numbers, when, count);
}

void generation_tell_world(const struct run *run, const char *why, const char *changes,
                           int restarts)
{
    char count[60] = "", batch[60] = "", numbers[NUMBERS_SIZE];

    number_words(run->plan, numbers);
    if (run->plan->max_restarts > 0)
        snprintf(count, sizeof count, "; restarts used: %d of %d", restarts,
                 run->plan->max_restarts);
    if (run->plan->accumulation_steps > 0)
        snprintf(batch, sizeof batch, "; accumulation steps: %ld",
                 run->plan->accumulation_steps);
    log_note("generation %d: %s%s; %s%s%s", run->plan->generation, why, changes, numbers, batch,
             count);
}

void generation_tell_park(const struct run *run, const char *why,
                          const struct policy_rules *rules)
{
    log_note(
        "generation %d: %s; %swaiting for a node, for %g s at most (--max-wait)",
        run->plan->generation, why,
        world_is_held(run, &rules->members, 0)
            ? "the nodes that are here cannot keep the global batch (--allow-batch-change); "
            : "",
        rules->max_wait_s);
}

char *generation_too_many(const struct run *run, const struct member_rules *rules)
{
    const struct membership *members = pool_members(run);
    size_t                   i = next_world_size(members, rules);
    struct strlist           names = { 0 };
    char                    *text;

    for (; i < members->places; i++)
        strlist_add(&names, pool_name(run, members->place[i]));
    text = names.count > 0 ? hostrange_fold(&names) : xstrdup("muster");
    strlist_clear(&names);
    return text;
}

/* Printed now, since the report covers only the last generation of the run. */
void generation_tell_hang(const struct run *run)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    hang_report(run, out);
    if (ftell(out) > 0)
        cautions_print(&run->outcome.cautions, out);
    if (fclose(out) != 0)
        xalloc_die();
    if (size > 0)
        output_own(run->output, text, size);
    free(text);
}

const char *generation_missing(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->state == NODE_FAILED || run->node[i]->failure != NULL)
            return plan_label(run->node[i]->plan);
    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->state != NODE_STAYING)
            return plan_label(run->node[i]->plan);
    return NULL;
}
