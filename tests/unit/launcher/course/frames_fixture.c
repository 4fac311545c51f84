/* frames_fixture.c - see frames_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frames_fixture.h"

#include "course/checkpoints.h"
#include "course/collective_watch.h"
#include "course/ending.h"
#include "course/generation.h"
#include "course/generation_words.h"
#include "course/page.h"
#include "course/role_restart.h"
#include "course/slow_nodes.h"
#include "run/rank_keys.h"
#include "run/data_shards.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/notice.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run_status.h"
#include "run/stacks.h"
#include "run/start_check.h"

double others_s;
bool   awaits_others, is_checked, owes_answer, restarts_role;
int    starts_told;
bool   stayed[NODES];

/* --- the others ------------------------------------------------------------- */

void phase_stop(struct run *of)
{
    (void)of;
    told("stop;");
}

double generation_others_s(const struct run *of)
{
    (void)of;
    return others_s;
}

void generation_rank_words(const struct run *of, const struct failed_rank *failed,
                           char text[GENERATION_WORDS_SIZE])
{
    (void)of;
    assert_true(failed->is_abort);
    snprintf(text, GENERATION_WORDS_SIZE, "rank %d: %d", failed->rank, failed->code);
}

bool role_restart_exit(struct run *of, int rank, bool is_failure)
{
    (void)of;
    if (restarts_role)
        told("role of %d%s;", rank, is_failure ? " has failed" : "");
    return restarts_role;
}

bool role_restart_abort(struct run *of, int rank, int status)
{
    (void)of;
    if (restarts_role)
        told("role of %d is aborted, %d;", rank, status);
    return restarts_role;
}

bool deadline_awaits_others(const struct deadline *of)
{
    (void)of;
    return awaits_others;
}

void deadline_await_others(struct run *of, double seconds)
{
    (void)of;
    told("await others for %g s;", seconds);
}

void deadline_take_dumping(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("dumping;");
}

void rendezvous_take(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)body;
    told("%s answers;", which->plan->host);
}

bool rendezvous_take_ready(struct run *of, struct node *which)
{
    (void)of, (void)which;
    return !owes_answer;
}

void rendezvous_take_holder(struct run *of, const struct node *which, const char *holder)
{
    (void)of, (void)which;
    if (holder[0] != '\0')
        told("%s holds it;", holder);
}

void hang_take_idle(struct run *of, const struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("idle;");
}

void stacks_take(struct run *of, struct node *which, uint32_t rank, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("stack of %u;", rank);
}

void hang_take_probed(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("unreached;");
}

void page_output(struct run *of, const struct frame *frame)
{
    (void)of;
    told("page %u;", frame->rank);
}

void rank_output_take(struct run *of, struct node *which, const struct frame *frame)
{
    (void)of, (void)which;
    told("output of %u;", frame->rank);
}

void data_shards_take(struct run *of, struct node *which, const struct frame *frame)
{
    (void)of, (void)which;
    told("shard for %u;", frame->rank);
}

void data_shards_rank_gone(struct run *of, int rank, bool has_failed)
{
    (void)of;
    told("%d is gone%s;", rank, has_failed ? ", by itself" : "");
}

bool start_check_ready(struct run *of, struct node *which, const json_t *ready)
{
    (void)of, (void)which, (void)ready;
    return is_checked;
}

void notice_take(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("notice;");
}

void notice_take_noticed(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("noticed;");
}

int checkpoints_take(struct run *of, const struct node *which, const json_t *body,
                     struct error *err)
{
    (void)of, (void)which;
    if (json_object_get(body, "path") == NULL)
        return err_set(err, "CHECKPOINT frame: no path");
    told("seen;");
    return 0;
}

void slow_nodes_take(struct run *of, const struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("sampled;");
}

void slow_nodes_stepped(struct run *of, const struct node *which)
{
    (void)of, (void)which;
    told("stepped;");
}

int collective_watch_take(struct run *of, const struct node *which, const json_t *body,
                          struct error *err)
{
    (void)of, (void)which;
    if (json_object_get(body, "list") == NULL)
        return err_set(err, "COLLECTIVES frame: no list");
    told("counts;");
    return 0;
}

void notice_take_checkpoint(struct run *of, struct node *which, const json_t *body)
{
    (void)of, (void)which, (void)body;
    told("checkpoint;");
}

void run_status_rank_started(struct run *of, uint32_t rank)
{
    (void)of;
    told("%u started;", rank);
}

void run_status_ask(struct run *of)
{
    (void)of;
}

void note_start(void *arg)
{
    (void)arg;
    starts_told++;
}

bool job_frame(struct run *of, struct node *which, const struct frame *frame,
               const json_t *body)
{
    (void)of, (void)which, (void)body;
    return frame->type == FRAME_CLEANED;
}

/* --- the run ---------------------------------------------------------------- */

int frames_fixture_begin(void **state)
{
    (void)state;
    run_fixture_begin();
    options.dead_after_s = 15;
    plan.world_size = plan.node_count = NODES;
    others_s = 0;
    awaits_others = owes_answer = false;
    is_checked = true;
    restarts_role = false;
    outcome_init(&run.outcome, &plan);
    plan.nodes = NODES;
    rank_keys_open(&run);
    stayed[0] = stayed[1] = false;
    run.phase.stayed = stayed;
    return 0;
}

int frames_fixture_end(void **state)
{
    (void)state;
    outcome_clear(&run.outcome);
    rank_keys_close(&run);
    run_fixture_end();
    return 0;
}
