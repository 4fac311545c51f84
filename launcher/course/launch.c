/* launch.c - see launch.h
 *
 * Theory of operation. One libevent loop; every node is a struct node with its own connection,
 * state and deadline. The run goes through phases:
 *
 *   CONNECTING   up to --fanout handshakes at a time, until every node has answered or failed.
 *                During this time node 0 holds MASTER_PORT and listens, and the others try
 *                each of its addresses (rendezvous.c)
 *   PREPARING    each agent gets its part of the plan, checks everything and sends READY; the
 *                last answers to rendezvous.c arrive, too
 *   RUNNING      muster sends GO to all, with MASTER_ADDR, and receives output, PMI barriers
 *                and exits of ranks
 *   STOPPING     muster sends STOP to all; each agent sends DONE when nothing is left there
 *
 * A phase waits for the answer of every node, so that one table can show everything that is
 * wrong. If any node failed, the next phase is STOPPING. No rank starts anywhere before every
 * node is READY and muster knows an address of node 0 that all nodes can reach.
 *
 * `muster exec` has no common phases: each node is prepared and started as soon as it has
 * answered, and the failure of one node does not affect the others. The same is true of muster
 * clean and muster bcast, which start no ranks (node_job.h).
 *
 * A run ends when a rank fails or aborts it (PMI), a node is lost, --timeout passes, the ranks
 * hang (once hang.c has asked where they are), a signal comes, or output cannot be written. All
 * of these call phase_stop(), and only the first call counts. A second Ctrl-C makes the grace
 * 0. At a third one muster exits at once: the agents see their connection end and clean up on
 * their own.
 *
 * If a connection breaks while a node runs, only node.c and reconnect.c know: the node stays
 * RUNNING, and its frames are queued until the connection is back.
 *
 * A node whose machine answers, but whose agent is gone or does not answer, is over only when
 * another agent has looked for what the first one left (orphan_cleanup.h).
 *
 * An agent that has sent DONE may stay. When no rank runs any more, generation.c decides what
 * follows: either muster sends STOP to the agents that stay, and they leave; or, over the same
 * connections,
 *
 *   RESTARTING   a pause, or a wait for enough nodes; node 0 must hold another MASTER_PORT;
 *                then PREPARING
 *
 * With --restart=role the nodes of one role go through this while the phase stays RUNNING
 * (role_restart.h).
 *
 * The next generation may have other nodes (world.h). Spares wait in the pool (pool.h).
 *
 * The loop ends when every node is over (ENDED or FAILED) and no generation may follow.
 * STOPPING has its own deadline, after which a silent node is lost. The deadline is put off
 * while the last output of that node comes or waits for its reader.
 *
 * Then muster blocks on the reader of its output, like any filter (reader.h): first for the
 * output of the ranks, then for the report, then for the document of --json. The loop runs for
 * signals, which are for the reader now. Then it waits a while for the program of --on-event.
 * After that the second signal ends the process at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "course/checkpoints.h"
#include "course/collective_watch.h"
#include "course/ending_event.h"
#include "course/flight.h"
#include "course/generation.h"
#include "course/metrics.h"
#include "course/page_look.h"
#include "course/requests.h"
#include "course/slow_nodes.h"
#include "course/world.h"
#include "discovery/host_watch.h"
#include "fd.h"
#include "hostrange.h"
#include "log.h"
#include "node/draining.h"
#include "node/flow.h"
#include "node/node_job.h"
#include "output/json_file.h"
#include "output/rank_labels.h"
#include "run/costs.h"
#include "run/data_shards.h"
#include "run/deadline.h"
#include "run/events.h"
#include "run/hang.h"
#include "run/heartbeat.h"
#include "run/interrupt.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/rank_input.h"
#include "run/rank_keys.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/stacks.h"
#include "run/steps.h"
#include "transport/children.h"
#include "xalloc.h"

#define DRAINING_S 5.0     /* for login shells, after their input has been closed */
#define CHILDREN_S 1.0     /* for our own children to exit at the end */
#define DESCRIPTORS_EACH 4 /* per node: socket, and for a local agent its stderr */
#define DESCRIPTORS_OWN 64
#define DESCRIPTORS_HTTP 100 /* for --metrics-listen, if the limit allows it */

/* Text that muster itself prints. */
struct text {
    FILE  *file;
    char  *bytes; /* after text_close() */
    size_t size;
};

static int  raise_descriptors(size_t nodes, const struct options *options, struct error *err);
static int  open_dir(struct run *run, struct error *err);
static int  open_loop(struct run *run, struct error *err);
static void begin(struct run *run);
static void watch_hosts(struct run *run);
static bool takes_hosts(const struct run *run);
static void carry_out(struct run *run);
static int  finish(struct run *run);
static void text_open(struct text *text);
static void text_close(struct text *text);
static void report_late(const struct run *run, FILE *err);
static void put_json(const struct run *run, int status, FILE *out);
static int  print(struct run *run, int status, struct text *out, struct text *err);
static int  write_json(struct run *run, int status);
static int  written(struct run *run, int status, const char *name, bool is_read, int error);
static void close_dir(struct run *run, int status);
static void run_clear(struct run *run);
static void job_end(struct run *run);
static void close_dir_failed(struct run *run, int status);

int launch_run(const struct options *options, struct plan *plan, const struct node_job *job,
               const struct launch_watcher *watcher)
{
    struct run   run = { .options = options, .plan = plan, .job = job, .watcher = watcher };
    struct error err;
    int          status;

    run.shown_count = (size_t)plan->world_size;
    if (rank_labels_parse_shown(options->show_ranks, plan, &run.shown, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_USAGE;
    }
    if (run.job != NULL && (status = run.job->prepare(&run, &run.job_data)) != 0)
        goto out;
    status = EXIT_USAGE;
    if (data_shards_open(&run, &err) < 0)
        goto failed;
    status = EXIT_CREATE;
    if (raise_descriptors(plan->nodes, options, &err) < 0 ||
        json_file_try(options->json, &err) < 0 ||
        agent_file_open(&run.agent, options->agent, &err) < 0 || metrics_open(&run, &err) < 0 ||
        open_dir(&run, &err) < 0)
        goto failed;
    status = EXIT_INTERNAL;
    if (open_loop(&run, &err) < 0)
        goto failed;
    begin(&run);
    carry_out(&run);
    status = finish(&run);
    run_clear(&run);
    free(run.shown);
    return status;
failed:
    log_error("%s", err.text);
    close_dir_failed(&run, status);
    metrics_free(&run);
    data_shards_free(run.data_shards);
    agent_file_clear(&run.agent);
out:
    job_end(&run);
    free(run.shown);
    return status;
}

/* Raises the soft limit of descriptors: each node needs one, a local agent more. If the hard
 * limit is too low, reports that before anything starts. */
static int raise_descriptors(size_t nodes, const struct options *options, struct error *err)
{
    struct rlimit limit;
    rlim_t        need = (rlim_t)(DESCRIPTORS_OWN + nodes * DESCRIPTORS_EACH);

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (options->metrics_listen != NULL && limit.rlim_max >= need + DESCRIPTORS_HTTP)
        need += DESCRIPTORS_HTTP;
    if (limit.rlim_cur >= need)
        return 0;
    if (limit.rlim_max < need)
        return err_set(err,
                       "%zu nodes need %ju file descriptors, but the limit is %ju: raise "
                       "ulimit -Hn",
                       nodes, (uintmax_t)need, (uintmax_t)limit.rlim_max);
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return err_set(err, "cannot raise the limit of file descriptors to %ju: %s",
                       (uintmax_t)need, strerror(errno));
    return 0;
}

/* Makes the directory for the history. If that fails, the run does without, unless its output
 * has no other place, or the run is resumed: only the lock there keeps another muster from
 * resuming it, too. */
static int open_dir(struct run *run, struct error *err)
{
    struct error why;

    if (run_is_exec(run))
        return 0;
    if (run_dir_open(&run->dir, run->plan, run->options, &why) < 0) {
        if (run->watcher != NULL)
            return err_set(err, "--detach needs a place for the output: %s", why.text);
        if (run->options->resumed != NULL)
            return err_set(err, "muster resume: %s", why.text);
        log_warn("muster status, attach, stop, drain, scale and resume will not find this run, "
                 "since it has no directory: %s; XDG_STATE_HOME may name another place",
                 why.text);
        return 0;
    }
    log_info("this run is in %s", run->dir.path);
    run->status = run_status_new(run, page_look_now);
    return run->watcher != NULL ? run->watcher->has_dir(&run->dir, run->watcher->arg, err) : 0;
}

/* Fails only if this machine is out of some resource. */
static int open_loop(struct run *run, struct error *err)
{
    run->base = event_base_new();
    if (run->base == NULL)
        return err_set(err, "cannot create an event loop: %s", strerror(errno));
    run->rendezvous = rendezvous_new();
    if (run->rendezvous != NULL)
        return 0;
    event_base_free(run->base);
    return err_set(err, "OpenSSL could not generate random numbers");
}

static void begin(struct run *run)
{
    outcome_init(&run->outcome, run->plan);
    outcome_set_rules(&run->outcome, run_is_exec(run), run->options->largest_status);
    phase_begin(run);
    generation_open(run);
    run->flow = flow_new(run->plan->nodes);
    rank_output_open(run);
    world_make_nodes(run);
    run->events = events_new(run);
    rank_input_open(run);
    costs_open(run);
    hang_open(run);
    steps_open(run);
    checkpoints_open(run);
    slow_nodes_open(run);
    collective_watch_open(run);
    stacks_open(run);
    rank_keys_open(run);
    watch_hosts(run);
    run->interrupt = interrupt_new(run);
    run->notice = notice_new(run);
    data_shards_begin(run);
    run->control = control_new(run->base, &run->dir, requests_verbs, run);
    run->deadline = deadline_new(run);
    run->heartbeat = heartbeat_new(run);
    metrics_begin(run);
    if (run_is_exec(run))
        deadline_start(run); /* nodes have no common start */
}

static void watch_hosts(struct run *run)
{
    if (!run_is_exec(run) && takes_hosts(run))
        run->host_watch = host_watch_new(run->base, run->options, run->plan->node[0].slots,
                                         requests_hosts, run);
}

/* Does the run take new hosts? Only if the user has said that nodes come and go: a hostfile
 * may be edited for another run. */
static bool takes_hosts(const struct run *run)
{
    const struct options *options = run->options;

    return options->discovery_script != NULL || options_take_nodes(options);
}

/* Runs until every node is over and its output is written. */
static void carry_out(struct run *run)
{
    size_t i;

    phase_connect(run);
    run_changed(run);
    event_base_dispatch(run->base);
    generation_look_no_more(run);
    host_watch_free(run->host_watch);
    run->host_watch = NULL;
    control_free(run->control);
    run->control = NULL;
    notice_end(run);
    rank_input_close(run);
    interrupt_nodes_over(run);
    draining_await(run->base, run->reader.has_left ? 0 : DRAINING_S);
    if (!run->reader.has_left)
        children_await(CHILDREN_S);
    generation_end(run);
    data_shards_end(run);
    costs_over(run, outcome_status(&run->outcome) == 0);
    outcome_ended(&run->outcome);
    for (i = 0; i < run->plan->nodes; i++)
        outcome_node_pace(&run->outcome, i, &run->node[i]->trips);
    ending_event_last(run);
    rank_output_finish(run);
}

/* Writes the report and the result. */
static int finish(struct run *run)
{
    const char *json = run->options->json;
    struct text out, err;
    int         status;

    text_open(&out);
    text_open(&err);
    hang_report(run, err.file);
    deadline_report(run, err.file);
    outcome_report(&run->outcome, run->output, fd_columns(STDERR_FILENO), err.file);
    if (run->plan->generation > 0 && !run_is_exec(run))
        cost_print(&run->cost, err.file);
    status = outcome_status(&run->outcome);
    if (status != 0 && run->plan->command == COMMAND_CHECK)
        report_late(run, err.file);
    if (run->job != NULL)
        status = run->job->report(run, status, out.file, err.file);
    if (json != NULL && strcmp(json, "-") == 0 && !run->is_stdout_lost)
        put_json(run, status, out.file);
    status = print(run, status, &out, &err);
    if (json != NULL && strcmp(json, "-") != 0)
        status = write_json(run, status);
    ending_event_run(run, status);
    events_await(run);
    metrics_end(run, status);
    interrupt_end(run, status);
    close_dir(run, status);
    events_free(run->events);
    return status;
}

static void text_open(struct text *text)
{
    text->file = open_memstream(&text->bytes, &text->size);
    if (text->file == NULL)
        xalloc_die();
}

static void text_close(struct text *text)
{
    bool is_cut = ferror(text->file) != 0;

    if (fclose(text->file) != 0 || is_cut || text->bytes == NULL)
        xalloc_die();
}

/* The ranks that wait in a PMI barrier can only report that some rank is missing. */
static void report_late(const struct run *run, FILE *err)
{
    struct strlist late = { 0 };
    char          *names;
    size_t         i;

    for (i = 0; i < run->plan->nodes; i++)
        if (rank_keys_are_late(run, i))
            strlist_add(&late, run->plan->node[i].host);
    names = hostrange_fold(&late);
    if (late.count > 0)
        fprintf(err,
                "muster: not all ranks on %s had arrived; the other nodes waited for them\n",
                names);
    free(names);
    strlist_clear(&late);
    if (run->options->html != NULL && !run->outcome.has_begun)
        fprintf(err, "muster: --html %s: no page was written, since no rank ran\n",
                run->options->html);
}

static void put_json(const struct run *run, int status, FILE *out)
{
    json_t *body = run->job != NULL ? run->job->json(run, status)
                                    : outcome_json(&run->outcome, log_wants(LOG_INFO));

    data_shards_json(run, body);
    if (!run_is_exec(run))
        json_object_set_new(body, "cost", cost_json(&run->cost));
    if (json_dumpf(body, out, JSON_INDENT(2)) < 0)
        xalloc_die();
    fputc('\n', out);
    json_decref(body);
}

/* Prints on stdout and stderr, and frees the texts. */
static int print(struct run *run, int status, struct text *out, struct text *err)
{
    const char *json = run->options->json;
    bool        is_read;
    int         error;

    text_close(out);
    text_close(err);
    is_read = reader_print(&run->reader, STDOUT_FILENO, STDERR_FILENO, out->bytes, err->bytes,
                           &error);
    free(out->bytes);
    free(err->bytes);
    return written(run, status, json != NULL && strcmp(json, "-") == 0 ? "--json -" : "stdout",
                   is_read, error);
}

static int write_json(struct run *run, int status)
{
    int         fd = json_file_open(run->options->json), error = errno;
    char       *name = xasprintf("--json %s", run->options->json);
    struct text text;
    bool        is_read = true;

    text_open(&text);
    put_json(run, status, text.file);
    text_close(&text);
    if (fd >= 0) {
        is_read = reader_print(&run->reader, fd, fd, text.bytes, "", &error);
        if (close(fd) < 0 && error == 0)
            error = errno;
    }
    free(text.bytes);
    status = written(run, status, name, is_read, error);
    free(name);
    return status;
}

/* Returns the exit status after a text was written, or could not be written. */
static int written(struct run *run, int status, const char *name, bool is_read, int error)
{
    if (error != 0)
        log_error("%s: %s", name, output_error_words(error));
    if (!is_read) {
        interrupt_has_left(run);
        return outcome_status(&run->outcome);
    }
    return error != 0 && status == 0 ? EXIT_OUTPUT : status;
}

static void close_dir(struct run *run, int status)
{
    json_t      *result = outcome_json(&run->outcome, false);
    json_t      *world = run_status_world(run);
    struct error err;

    run_status_free(run->status);
    run->status = NULL;
    json_object_set_new(result, "exit_status", json_integer(status));
    if (world != NULL)
        json_object_set_new(result, "world", world);
    data_shards_json(run, result);
    json_object_set_new(result, "cost", cost_json(&run->cost));
    if (run->dir.path != NULL)
        json_object_set_new(result, "page", page_look_whole(run, status));
    flight_write(run);
    if (run_dir_result(&run->dir, result, &err) < 0)
        log_warn("%s: %s; muster status will say that this run has died", run->dir.path,
                 err.text);
    json_decref(result);
}

static void run_clear(struct run *run)
{
    world_free_nodes(run);
    if (!run->reader.has_left)
        children_await(CHILDREN_S);
    hang_free(run->hang);
    steps_free(run->steps);
    checkpoints_close(run);
    slow_nodes_free(run->slow_nodes);
    collective_watch_close(run);
    stacks_free(run->stacks);
    generation_close(run);
    pool_free(run->pool);
    notice_free(run->notice);
    rank_output_close(run);
    flow_free(run->flow);
    rank_keys_close(run);
    phase_clear(run);
    world_close(run);
    job_end(run);
    run_dir_close(&run->dir); /* from here on other processes see that the run has ended */
    heartbeat_free(run->heartbeat);
    costs_close(run);
    data_shards_free(run->data_shards);
    deadline_free(run->deadline);
    interrupt_free(run->interrupt);
    rendezvous_free(run->rendezvous);
    outcome_clear(&run->outcome);
    agent_file_clear(&run->agent);
    event_base_free(run->base);
}

static void job_end(struct run *run)
{
    if (run->job != NULL)
        run->job->free(run, run->job_data);
}

/* For a run that did not even begin. */
static void close_dir_failed(struct run *run, int status)
{
    json_t *result =
        json_pack("{s:s, s:i}", "run_id", run->plan->run_id, "exit_status", status);

    run_status_free(run->status);
    run->status = NULL;
    run_dir_result(&run->dir, result, NULL);
    json_decref(result);
    run_dir_close(&run->dir);
}
