/* run_figures.c - see run_figures.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/run_figures.h"

#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "hook/event.h"
#include "hook/event_hook.h"
#include "run/costs.h"
#include "run/events.h"
#include "run/hang.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/steps.h"
#include "xalloc.h"

#define HOUR_S 3600.0
#define HALF   50 /* percent */
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum rank_state { STARTING, RANK_RUNNING, SILENT, DONE, RANK_FAILED, STOPPED, LOST, RANK_STATES };

static void add_run(struct metrics_text *text, const struct run_figures *figures,
                    const struct run *run);
static void add_state(struct metrics_text *text, const struct run_figures *figures,
                      const struct run *run);
static void add_ranks(struct metrics_text *text, const struct run *run);
static void count_ranks(const struct run *run, const struct plan *world, int count[RANK_STATES]);
static enum rank_state state_of(const struct run *run, const struct node *node, int rank);
static void add_steps(struct metrics_text *text, const struct run *run);
static void add_range(struct metrics_text *text, const struct run *run, bool is_highest);
static void add_checkpoints(struct metrics_text *text, const struct run *run);
static void add_each(struct metrics_text *text, const struct run *run, const char *name,
                     const char *unit, const char *help,
                     double (*value)(const struct checkpoint_log *log));
static double count_of(const struct checkpoint_log *log);
static double age_of(const struct checkpoint_log *log);
static double save_of(const struct checkpoint_log *log);
static void add_restarts(struct metrics_text *text, const struct run_figures *figures);
static void add_slow(struct metrics_text *text, const struct run *run);
static void add_costs(struct metrics_text *text, struct run *run);
static void add_heartbeats(struct metrics_text *text, const struct run *run);
static void add_trips(struct metrics_text *text, const struct run *run);
static void add_each_trip(struct metrics_text *text, const struct run *run);
static void add_heard(struct metrics_text *text, const struct run *run);
static const struct node *node_at(const struct run *run, size_t number);
static void add_of_node(struct metrics_text *text, const struct run *run, size_t number,
                        double value);
static int  compare_ns(const void *one, const void *other);
static void add_evidence(struct metrics_text *text, const struct run_figures *figures,
                         const struct run *run);
static void add_events(struct metrics_text *text, const struct run *run);
static double             since_s(int64_t ns);

void run_figures_init(struct run_figures *figures, const struct run *run)
{
    *figures = (struct run_figures){ .script = event_script(run->options) };
    run_dir_host(figures->host);
}

void run_figures_clear(struct run_figures *figures)
{
    free(figures->script);
    *figures = (struct run_figures){ 0 };
}

void run_figures_restart(struct run_figures *figures, const struct run *run,
                         const struct plan *world, enum policy_end end)
{
    const struct evidence *evidence = &run->outcome.evidence;
    size_t                 i;

    figures->restarts[end]++;
    for (i = 0; i < evidence->count; i++)
        if (world == run->plan || plan_world(run->plan, evidence->item[i].node) == world)
            figures->evidence[evidence->item[i].severity] += (double)evidence->item[i].count;
}

/* A new figure is a function here, and a row in the table of muster-watch(7). */
char *run_figures_text(const struct run_figures *figures, struct run *run,
                       enum metrics_format format)
{
    const struct metrics_label common[] = { { "run_id", run->plan->run_id }, { 0 } };
    struct metrics_text        text;

    metrics_text_begin(&text, format, common);
    add_run(&text, figures, run);
    add_state(&text, figures, run);
    add_ranks(&text, run);
    add_steps(&text, run);
    add_checkpoints(&text, run);
    add_restarts(&text, figures);
    metrics_text_one(&text, METRICS_GAUGE, "muster_suspects", NULL,
                     (double)json_array_size(run->outcome.suspects),
                     "Nodes that have spoilt a generation of this run");
    add_slow(&text, run);
    add_costs(&text, run);
    add_heartbeats(&text, run);
    metrics_text_one(&text, METRICS_COUNTER, "muster_output_bytes", "bytes",
                     (double)run->output_bytes, "Output of all ranks that has come");
    add_evidence(&text, figures, run);
    add_events(&text, run);
    metrics_text_end(&text);
    return text.out.bytes;
}

/* --- the run ------------------------------------------------------------------------ */

static void add_run(struct metrics_text *text, const struct run_figures *figures,
                    const struct run *run)
{
    const struct metrics_label label[] = { { "name", run->options->name },
                                           { "script", figures->script },
                                           { "host", figures->host },
                                           { 0 } };
    double                     elapsed_s = since_s(run->outcome.start_ns);
    struct timespec            now;

    clock_gettime(CLOCK_REALTIME, &now);
    metrics_text_family(text, METRICS_INFO, "muster_run", NULL,
                        "The run: its name, script, and the host of muster itself");
    metrics_text_add(text, 1, label);
    metrics_text_one(text, METRICS_GAUGE, "muster_metrics_time_seconds", "seconds",
                     (double)now.tv_sec, "When these figures were made (Unix time)");
    metrics_text_one(text, METRICS_GAUGE, "muster_run_elapsed_seconds", "seconds", elapsed_s,
                     "Since this muster has begun the run");
    metrics_text_one(text, METRICS_GAUGE, "muster_generation", NULL,
                     plan_latest_generation(run->plan), "Number of the generation of the ranks");
    metrics_text_one(text, METRICS_GAUGE, "muster_run_hangs", NULL, hang_is_seen(run),
                     "1: the run hangs (--hang-timeout)");
    if (figures->is_over)
        metrics_text_one(text, METRICS_GAUGE, "muster_exit_status", NULL, figures->status,
                         "Exit status of the run, which has ended");
}

static void add_state(struct metrics_text *text, const struct run_figures *figures,
                      const struct run *run)
{
    struct metrics_label label[] = { { "state", NULL }, { 0 } };
    int                  phase;

    metrics_text_family(text, METRICS_GAUGE, "muster_run_state", NULL,
                        "1 for what the run does now, else 0");
    for (phase = PHASE_CONNECTING; phase <= PHASE_RESTARTING; phase++) {
        label[0].value = run_phase_name((enum phase_now)phase);
        metrics_text_add(text, !figures->is_over && run->phase.now == (enum phase_now)phase,
                         label);
    }
    label[0].value = "ended";
    metrics_text_add(text, figures->is_over, label);
}

/* --- nodes and ranks ------------------------------------------------------------------ */

static void add_ranks(struct metrics_text *text, const struct run *run)
{
    static const char *const names[] = {
        [STARTING] = "starting",  [RANK_RUNNING] = "running", [SILENT] = "silent", [DONE] = "done",
        [RANK_FAILED] = "failed", [STOPPED] = "stopped",      [LOST] = "lost",
    };
    const struct membership *members = pool_members(run);
    struct metrics_label     label[] = { { "state", NULL }, { NULL, NULL }, { 0 } };
    int                      count[RANK_STATES], state;
    size_t                   i, spares = 0;

    for (i = 0; i < members->count; i++)
        spares += members->item[i].state == MEMBER_SPARE;
    metrics_text_one(text, METRICS_GAUGE, "muster_nodes", NULL, run->plan->node_count,
                     "Nodes of this generation");
    metrics_text_one(text, METRICS_GAUGE, "muster_spares", NULL, (double)spares,
                     "Nodes that wait for a place");
    metrics_text_family(text, METRICS_GAUGE, "muster_ranks", NULL,
                        "Ranks of this generation, by their state");
    for (i = 0; i < plan_worlds(run->plan); i++) {
        if (plan_world_at(run->plan, i)->role_name != NULL)
            label[1] = (struct metrics_label){ "role", plan_world_at(run->plan, i)->role_name };
        count_ranks(run, plan_world_at(run->plan, i), count);
        for (state = 0; state < RANK_STATES; state++) {
            label[0].value = names[state];
            metrics_text_add(text, count[state], label);
        }
    }
}

static void count_ranks(const struct run *run, const struct plan *world, int count[RANK_STATES])
{
    const struct plan_node *node;
    size_t                  n;
    int                     i;

    for (i = 0; i < RANK_STATES; i++)
        count[i] = 0;
    for (n = 0; n < run->plan->nodes; n++) {
        node = &run->plan->node[n];
        if (plan_world(run->plan, n) != world)
            continue;
        for (i = 0; i < node->ranks; i++)
            count[state_of(run, run->node[n], node->rank[i].rank)]++;
    }
}

static enum rank_state state_of(const struct run *run, const struct node *node, int rank)
{
    const struct rank_end *end = &run->outcome.rank[rank];

    if (end->ended && rank_end_is_failure(end))
        return RANK_FAILED;
    if (end->ended)
        return rank_end_code(end) == 0 ? DONE : STOPPED;
    if (node_is_over(node))
        return LOST;
    if (!end->started)
        return STARTING;
    return node->liveness.is_suspect || reconnect_is_cut(node->reconnect) ? SILENT : RANK_RUNNING;
}

/* --- steps --------------------------------------------------------------------------- */

static void add_steps(struct metrics_text *text, const struct run *run)
{
    struct hang_signs signs = { 0 };
    double            median_s;

    add_range(text, run, true);
    add_range(text, run, false);
    steps_signs(run, clock_now_ns(), &signs);
    if (signs.step_s >= 0)
        metrics_text_one(text, METRICS_GAUGE, "muster_step_age_seconds", "seconds", signs.step_s,
                         "Since the last step that a rank has reported");
    median_s = step_pace_median_s(signs.pace);
    if (median_s >= 0)
        metrics_text_one(text, METRICS_GAUGE, "muster_step_interval_seconds", "seconds", median_s,
                         "Median of the recent times between two reports of steps");
}

static void add_range(struct metrics_text *text, const struct run *run, bool is_highest)
{
    struct metrics_label label[] = { { NULL, NULL }, { 0 } };
    const struct plan   *world;
    int64_t              lowest, highest;
    bool                 is_begun = false;
    size_t               i;

    for (i = 0; i < plan_worlds(run->plan); i++) {
        world = plan_world_at(run->plan, i);
        if (!steps_range(run, world, &lowest, &highest))
            continue;
        if (!is_begun)
            metrics_text_family(text, METRICS_GAUGE,
                                is_highest ? "muster_step_highest" : "muster_step_lowest", NULL,
                                is_highest ? "Step of the rank that is ahead"
                                           : "Step of the rank that is behind");
        is_begun = true;
        if (world->role_name != NULL)
            label[0] = (struct metrics_label){ "role", world->role_name };
        metrics_text_add(text, (double)(is_highest ? highest : lowest), label);
    }
}

/* --- checkpoints ---------------------------------------------------------------------- */

static void add_checkpoints(struct metrics_text *text, const struct run *run)
{
    add_each(text, run, "muster_checkpoints", NULL, "Checkpoints that were written", count_of);
    add_each(text, run, "muster_checkpoint_age_seconds", "seconds",
             "Since the last checkpoint was written", age_of);
    add_each(text, run, "muster_checkpoint_save_seconds", "seconds",
             "From the last step before it until the last checkpoint was written", save_of);
}

/* Adds the figure of each world that has it: not negative. */
static void add_each(struct metrics_text *text, const struct run *run, const char *name,
                     const char *unit, const char *help,
                     double (*value)(const struct checkpoint_log *log))
{
    struct metrics_label label[] = { { NULL, NULL }, { 0 } };
    bool                 is_begun = false;
    size_t               i;

    for (i = 0; i < plan_worlds(run->plan) && run->checkpoints != NULL; i++) {
        if (value(&run->checkpoints[i]) < 0)
            continue;
        if (!is_begun)
            metrics_text_family(text, unit == NULL ? METRICS_COUNTER : METRICS_GAUGE, name, unit,
                                help);
        is_begun = true;
        if (plan_world_at(run->plan, i)->role_name != NULL)
            label[0] = (struct metrics_label){ "role", plan_world_at(run->plan, i)->role_name };
        metrics_text_add(text, value(&run->checkpoints[i]), label);
    }
}

static double count_of(const struct checkpoint_log *log)
{
    return log->count > 0 ? (double)log->count : -1;
}

static double age_of(const struct checkpoint_log *log)
{
    const double age_s = clock_now_s() - log->at_s;

    return log->count == 0 ? -1 : age_s > 0 ? age_s : 0;
}

static double save_of(const struct checkpoint_log *log)
{
    return log->count > 0 ? log->save_s : -1;
}

/* --- restarts and costs ----------------------------------------------------------------- */

static void add_restarts(struct metrics_text *text, const struct run_figures *figures)
{
    static const struct {
        enum policy_end end;
        const char     *name;
    } causes[] = { { POLICY_END_RANK, "rank" },
                   { POLICY_END_HANG, "hang" },
                   { POLICY_END_NODE, "node" },
                   { POLICY_END_NO_START, "no_start" },
                   { POLICY_END_UNFIT, "unfit" },
                   { POLICY_END_CHANGE, "change" } };
    struct metrics_label label[] = { { "cause", NULL }, { 0 } };
    size_t               i;

    metrics_text_family(text, METRICS_COUNTER, "muster_restarts", NULL,
                        "Generations that followed another one, by what has ended that one");
    for (i = 0; i < COUNT(causes); i++) {
        label[0].value = causes[i].name;
        metrics_text_add(text, figures->restarts[causes[i].end], label);
    }
}

static void add_slow(struct metrics_text *text, const struct run *run)
{
    json_t *now = slow_list_now(run->outcome.slow);

    metrics_text_one(text, METRICS_GAUGE, "muster_slow_nodes", NULL, (double)json_array_size(now),
                     "Nodes that are slower than the others now");
    json_decref(now);
}

/* What is open becomes useful or lost later: it is no counter. */
static void add_costs(struct metrics_text *text, struct run *run)
{
    struct metrics_label useful[] = { { "use", "useful" }, { 0 } };
    struct metrics_label lost[] = { { "use", "lost" }, { 0 } };
    struct metrics_label waiting[] = { { "use", "waiting" }, { 0 } };
    struct cost_sum      sum;

    costs_look(run);
    sum = cost_sum(&run->cost, NULL);
    metrics_text_family(text, METRICS_COUNTER, "muster_node_seconds", "seconds",
                        "Time of all nodes, by what came of it");
    metrics_text_add(text, sum.useful * HOUR_S, useful);
    metrics_text_add(text, sum.lost * HOUR_S, lost);
    metrics_text_add(text, sum.waiting * HOUR_S, waiting);
    metrics_text_one(text, METRICS_GAUGE, "muster_node_open_seconds", "seconds", sum.open * HOUR_S,
                     "Time of all nodes of which it is not known yet whether it is useful or lost");
    metrics_text_one(text, METRICS_GAUGE, "muster_goodput_ratio", "ratio", sum.goodput,
                     "Useful and open part of the time of all nodes");
}

/* --- heartbeats ---------------------------------------------------------------------------- */

static void add_heartbeats(struct metrics_text *text, const struct run *run)
{
    add_trips(text, run);
    add_each_trip(text, run);
    add_heard(text, run);
}

static void add_trips(struct metrics_text *text, const struct run *run)
{
    int64_t *median_ns = xcalloc(pool_nodes(run) + 1, sizeof *median_ns), most_ns = 0;
    size_t   i, count = 0, middle;

    for (i = 0; i < pool_nodes(run); i++) {
        const struct node *node = node_at(run, i);

        if (node == NULL || node->trips.count == 0)
            continue;
        median_ns[count++] = roundtrips_percentile(&node->trips, HALF);
        most_ns = node->trips.most_ns > most_ns ? node->trips.most_ns : most_ns;
    }
    if (count > 0) {
        middle = count / 2;
        qsort(median_ns, count, sizeof *median_ns, compare_ns);
        metrics_text_one(text, METRICS_GAUGE, "muster_heartbeat_round_trip_seconds", "seconds",
                         (double)median_ns[middle] / NS_PER_S,
                         "Recent round trip of a heartbeat: the median of the nodes");
        metrics_text_one(text, METRICS_GAUGE, "muster_heartbeat_round_trip_longest_seconds",
                         "seconds", (double)most_ns / NS_PER_S,
                         "The longest round trip of a heartbeat so far, of any node");
    }
    free(median_ns);
}

static int compare_ns(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

    return (a > b) - (a < b);
}

static void add_each_trip(struct metrics_text *text, const struct run *run)
{
    size_t i;

    metrics_text_family(text, METRICS_GAUGE, "muster_node_round_trip_seconds", "seconds",
                        "Recent round trip of the heartbeats of a node, their median");
    for (i = 0; i < pool_nodes(run); i++)
        if (node_at(run, i) != NULL && node_at(run, i)->trips.count > 0)
            add_of_node(text, run, i,
                        (double)roundtrips_percentile(&node_at(run, i)->trips, HALF) / NS_PER_S);
}

static void add_heard(struct metrics_text *text, const struct run *run)
{
    size_t i;

    metrics_text_family(text, METRICS_GAUGE, "muster_node_silent_seconds", "seconds",
                        "Since muster has last heard a node");
    for (i = 0; i < pool_nodes(run); i++)
        if (node_at(run, i) != NULL && node_at(run, i)->liveness.heard_ns > 0)
            add_of_node(text, run, i, since_s(node_at(run, i)->liveness.heard_ns));
}

/* Returns NULL for a node of which there are no heartbeats. */
static const struct node *node_at(const struct run *run, size_t number)
{
    const struct node *node = pool_node(run, number);

    return node != NULL && node->state >= NODE_ANSWERED && !node_is_over(node) ? node : NULL;
}

/* With roles a host may be several nodes, but one of each role. */
static void add_of_node(struct metrics_text *text, const struct run *run, size_t number,
                        double value)
{
    const struct metrics_label label[] = {
        { "node", pool_node(run, number)->plan->host },
        { run->plan->roles > 0 && number < run->plan->nodes ? "role" : NULL,
          number < run->plan->nodes ? plan_world(run->plan, number)->role_name : NULL },
        { 0 }
    };

    metrics_text_add(text, value, label);
}

/* --- evidence and events -------------------------------------------------------------------- */

static void add_evidence(struct metrics_text *text, const struct run_figures *figures,
                         const struct run *run)
{
    static const char *const names[] = { [EVIDENCE_NOTICE] = "notice",
                                         [EVIDENCE_PROGRAM] = "program",
                                         [EVIDENCE_ERROR] = "error",
                                         [EVIDENCE_BROKEN] = "broken" };
    const struct evidence   *evidence = &run->outcome.evidence;
    struct metrics_label     label[] = { { "severity", NULL }, { 0 } };
    double                   count[COUNT(names)];
    size_t                   i;

    for (i = 0; i < COUNT(names); i++)
        count[i] = figures->evidence[i];
    for (i = 0; i < evidence->count; i++)
        count[evidence->item[i].severity] += (double)evidence->item[i].count;
    metrics_text_family(text, METRICS_COUNTER, "muster_kernel_evidence", NULL,
                        "What the kernels of the nodes have said of hardware and storage");
    for (i = 0; i < COUNT(names); i++) {
        label[0].value = names[i];
        metrics_text_add(text, count[i], label);
    }
}

static void add_events(struct metrics_text *text, const struct run *run)
{
    struct metrics_label     told[] = { { "result", "told" }, { 0 } };
    struct metrics_label     failed[] = { { "result", "failed" }, { 0 } };
    struct metrics_label     dropped[] = { { "result", "dropped" }, { 0 } };
    struct event_hook_counts counts;

    if (!events_counts(run, &counts))
        return;
    metrics_text_family(text, METRICS_COUNTER, "muster_events", NULL,
                        "Events for the program of --on-event");
    metrics_text_add(text, counts.told, told);
    metrics_text_add(text, counts.failed, failed);
    metrics_text_add(text, counts.dropped, dropped);
}

/* --- all of them ------------------------------------------------------------------------------ */

static double since_s(int64_t ns)
{
    return (double)(clock_now_ns() - ns) / NS_PER_S;
}
