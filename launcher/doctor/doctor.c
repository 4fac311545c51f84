/* doctor.c - see doctor.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "doctor/findings.h"
#include "doctor/judge.h"
#include "doctor/judge_config.h"
#include "doctor/request.h"
#include "hostrange.h"
#include "log.h"
#include "plan/program.h"
#include "run/run.h"
#include "task/node_task.h"
#include "transport/nonce.h"
#include "xalloc.h"

#define QUICK_S              30.0 /* for round 0: the node's checks of itself */
#define FULL_S               200.0
#define PEERS_S              15.0
#define TOKEN_CHARS          16
#define ABOUT_NODE           0 /* numbers of rounds */
#define TO_PEERS             1
#define ROUNDS               NODE_TASK_ROUNDS_MAX /* the rounds after TO_PEERS measure speed */
#define FINDINGS_OF_NODE_MAX 200
#define SEGMENT_BYTES        536 /* fits every path: RFC 9293, section 3.7.1 */

struct doctor {
    struct node_task *task;
    struct program    program; /* program of the ranks */
    int              *port;    /* by node: a port that is free there; 0: unknown */
    size_t            first;   /* the first node that was asked */
    bool              has_first;
    char              token[FRAME_NONCE_CHARS + 1];
    struct findings   findings;
};

static int     doctor_prepare(const struct run *run, void **data);
static int     find_program(const struct options *options, struct program *program);
static void    doctor_free(const struct run *run, void *data);
static void    doctor_begin(struct run *run, struct node *node);
static bool    doctor_frame(struct run *run, struct node *node, const struct frame *frame,
                            const json_t *body);
static void    doctor_over(struct run *run, struct node *node);
static json_t *request(struct run *run, const struct node *node, int round, double *deadline_s);
static json_t *about_node(const struct run *run, struct doctor *doctor, const struct node *node);
static void    find_ports(const struct run *run, struct doctor *doctor);
static int     doctor_report(const struct run *run, int status, FILE *out, FILE *err);
static json_t *doctor_json(const struct run *run, int status);
static void    examine(const struct run *run, struct doctor *doctor);
static void    take_skipped(const struct run *run, struct doctor *doctor, struct subject *subject,
                            size_t node);
static void    take_lines(struct doctor *doctor, struct subject *subject, size_t node);
static void    take_line(struct doctor *doctor, struct subject *subject, size_t node,
                         const json_t *line);
static void    examine_config(const struct run *run, struct doctor *doctor);
static void    take_clock(const struct node *node, struct subject *subject);
static void    print_healthy(const struct run *run, const struct doctor *doctor, FILE *out);

const struct node_job doctor_job = {
    .prepare = doctor_prepare,
    .begin = doctor_begin,
    .frame = doctor_frame,
    .over = doctor_over,
    .report = doctor_report,
    .json = doctor_json,
    .free = doctor_free,
    .segment_bytes = SEGMENT_BYTES,
};

static const struct node_task_ops task_ops = { "doctor", request, NULL };

static int doctor_prepare(const struct run *run, void **data)
{
    struct doctor *doctor = *data = xcalloc(1, sizeof *doctor);
    int            status = find_program(run->options, &doctor->program);

    doctor->task = node_task_new(run, &task_ops);
    doctor->port = xcalloc(run->plan->nodes, sizeof *doctor->port);
    if (status == 0 && nonce_make(doctor->token) < 0) {
        log_error("OpenSSL could not generate random numbers");
        status = EXIT_INTERNAL;
    }
    doctor->token[TOKEN_CHARS] = '\0';
    return status;
}

/* Finds the program as muster run does. Without a script, it finds the Python that ranks would
 * get; if there is none here, we do not ask the nodes for it. */
static int find_program(const struct options *options, struct program *program)
{
    struct options as_run = *options; /* borrows the texts of options */
    char           any[] = "doctor";
    struct error   err;
    int            status;

    as_run.command = COMMAND_RUN;
    if (options->script == NULL) {
        as_run.script = any;
        as_run.module = true;
    }
    if (program_find(&as_run, environ, options->cwd, program, &status, &err) == 0)
        return 0;
    if (options->script == NULL && options->python == NULL)
        return 0;
    log_error("%s", err.text);
    return status;
}

static void doctor_free(const struct run *run, void *data)
{
    struct doctor *doctor = data;

    (void)run;
    if (doctor == NULL)
        return;
    node_task_free(doctor->task);
    program_clear(&doctor->program);
    findings_clear(&doctor->findings);
    free(doctor->port);
    free(doctor);
}

/* Pings first: the offset of the clocks is most accurate while the agent is idle. */
static void doctor_begin(struct run *run, struct node *node)
{
    struct doctor *doctor = run->job_data;

    node_ping(node);
    node_task_begin(doctor->task, run, node);
}

static bool doctor_frame(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    struct doctor *doctor = run->job_data;

    return node_task_frame(doctor->task, run, node, frame, body);
}

static void doctor_over(struct run *run, struct node *node)
{
    struct doctor *doctor = run->job_data;

    node_task_over(doctor->task, run, node);
}

static json_t *request(struct run *run, const struct node *node, int round, double *deadline_s)
{
    struct doctor *doctor = run->job_data;

    *deadline_s = round != ABOUT_NODE ? PEERS_S : run->options->check_full ? FULL_S : QUICK_S;
    if (round == ABOUT_NODE)
        return about_node(run, doctor, node);
    if (round == TO_PEERS) {
        find_ports(run, doctor);
        return request_peers(run, node, doctor->port, doctor->token);
    }
    return run->options->check_full ? request_speed(run, node, doctor->port, doctor->token,
                                                    doctor->task, round)
                                    : NULL;
}

/* The first node that has answered does the work for the machine if all are on one. */
static json_t *about_node(const struct run *run, struct doctor *doctor, const struct node *node)
{
    json_t *request = request_node(run, node, &doctor->program), *skip;

    if (!doctor->has_first)
        doctor->first = node->index;
    doctor->has_first = true;
    skip = request_skip(run, node->index, doctor->first);
    if (skip != NULL)
        json_object_set_new(request, "skip", skip);
    return request;
}

/* Takes from round 0 the ports on which nodes listen in the later rounds. */
static void find_ports(const struct run *run, struct doctor *doctor)
{
    const json_t *lines, *line, *value;
    size_t        n, i;

    for (n = 0; n < run->plan->nodes; n++) {
        lines = node_task_lines(doctor->task, n, ABOUT_NODE);
        json_array_foreach(lines, i, line) {
            value = json_object_get(line, "value");
            if (strcmp(judge_text(line, "fact"), "free port") == 0 &&
                json_integer_value(value) > 0 && json_integer_value(value) <= 65535)
                doctor->port[n] = (int)json_integer_value(value);
        }
    }
}

/* --- results -------------------------------------------------------- */

static int doctor_report(const struct run *run, int status, FILE *out, FILE *err)
{
    struct doctor *doctor = run->job_data;

    (void)err;
    examine(run, doctor);
    if (run->options->json == NULL || strcmp(run->options->json, "-") != 0) {
        findings_print(&doctor->findings, run->plan, out);
        print_healthy(run, doctor, out);
    }
    return status != 0 ? status : findings_status(&doctor->findings);
}

static void examine(const struct run *run, struct doctor *doctor)
{
    struct subject *subject = xcalloc(run->plan->nodes, sizeof *subject);
    struct subjects subjects = { subject, run->plan->nodes,
                                 run->options->transport == TRANSPORT_EXEC };
    size_t          i;

    for (i = 0; i < run->plan->nodes; i++) {
        subject[i] = (struct subject){ .host = run->plan->node[i].host,
                                       .hello = run->node[i]->hello,
                                       .login_s = run->node[i]->login_s,
                                       .noise = run->node[i]->noise,
                                       .facts = json_object() };
        take_clock(run->node[i], &subject[i]);
        take_skipped(run, doctor, &subject[i], i);
        take_lines(doctor, &subject[i], i);
    }
    judge(&subjects, &doctor->findings);
    examine_config(run, doctor);
    for (i = 0; i < run->plan->nodes; i++)
        json_decref(subject[i].facts);
    free(subject);
}

/* Checks the config file that the script's arguments name, by DeepSpeed's option names. */
static void examine_config(const struct run *run, struct doctor *doctor)
{
    static const char *const names[] = { "--deepspeed_config", "--deepspeed", "--ds_config" };
    const struct strlist    *args = &doctor->program.args;
    const char              *word;
    size_t                   i, k, size, n;
    int                      world = 0;

    for (n = 0; n < run->plan->nodes; n++)
        world += run->plan->node[n].slots;
    for (i = 0; i < args->count; i++) {
        for (k = 0; k < sizeof names / sizeof *names; k++) {
            size = strlen(names[k]);
            if (strncmp(args->item[i], names[k], size) != 0)
                continue;
            word = args->item[i][size] == '='                           ? args->item[i] + size + 1
                   : args->item[i][size] == '\0' && i + 1 < args->count ? args->item[i + 1]
                                                                        : "";
            if (strlen(word) > 5 && strcmp(word + strlen(word) - 5, ".json") == 0)
                judge_config(word, world, &doctor->findings);
        }
    }
}

/* HELLO contains the node's real and monotonic time; pings give the offset of its monotonic
 * clock to ours. */
static void take_clock(const struct node *node, struct subject *subject)
{
    struct timespec now;
    json_int_t      mono_ns = json_integer_value(json_object_get(node->hello, "now_ns"));
    json_int_t      real_ns = json_integer_value(json_object_get(node->hello, "time_ns"));
    double          since_s;

    if (node->hello == NULL)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    since_s = (double)(clock_now_ns() - node_local_ns(node, mono_ns)) / NS_PER_S;
    subject->clock_s = (double)real_ns / NS_PER_S -
                       ((double)now.tv_sec + (double)now.tv_nsec / NS_PER_S - since_s);
    subject->within_s =
        node->trips.best_ns < INT64_MAX ? (double)node->trips.best_ns / NS_PER_S : node->login_s;
}

/* Takes what the first node has said for this one, too. Its own facts replace those. */
static void take_skipped(const struct run *run, struct doctor *doctor, struct subject *subject,
                         size_t node)
{
    json_t       *skip = request_skip(run, node, doctor->first);
    const json_t *lines = node_task_lines(doctor->task, doctor->first, ABOUT_NODE), *line;
    size_t        i;

    if (skip != NULL && subject->hello != NULL)
        json_array_foreach(lines, i, line)
            if (json_object_get(line, "fact") != NULL ||
                request_skips(skip, judge_text(line, "check")))
                take_line(doctor, subject, node, line);
    json_decref(skip);
}

static void take_lines(struct doctor *doctor, struct subject *subject, size_t node)
{
    const struct node_task_end *end;
    const json_t               *lines, *line;
    size_t                      i, found = 0;
    int                         round;

    for (round = ABOUT_NODE; round < ROUNDS; round++) {
        lines = node_task_lines(doctor->task, node, round);
        end = node_task_ended(doctor->task, node, round);
        json_array_foreach(lines, i, line)
            if (json_object_get(line, "level") == NULL || found++ < FINDINGS_OF_NODE_MAX)
                take_line(doctor, subject, node, line);
        if (end->has_ended && (end->timed_out || end->status != 0))
            findings_add(&doctor->findings, (int)node, true, "doctor",
                         end->timed_out ? "the checks did not finish in time"
                                        : "the checks stopped early",
                         "this node may not be healthy", "check its load and dmesg");
    }
}

static void take_line(struct doctor *doctor, struct subject *subject, size_t node,
                      const json_t *line)
{
    const char *fact = json_string_value(json_object_get(line, "fact"));

    if (fact != NULL && json_object_get(line, "value") != NULL) {
        json_object_set(subject->facts, fact, json_object_get(line, "value"));
        return;
    }
    if (json_object_get(line, "level") != NULL)
        findings_add(&doctor->findings, (int)node, strcmp(judge_text(line, "level"), "fail") == 0,
                     judge_text(line, "check"), judge_text(line, "value"),
                     judge_text(line, "breaks"), judge_text(line, "mend"));
}

static void print_healthy(const struct run *run, const struct doctor *doctor, FILE *out)
{
    struct strlist hosts = { 0 };
    char          *names;
    size_t         i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->outcome.node[i] == NULL && run->node[i]->hello != NULL &&
            !findings_has_node(&doctor->findings, (int)i))
            strlist_add(&hosts, run->plan->node[i].host);
    if (hosts.count > 0) {
        names = hostrange_fold(&hosts);
        fprintf(out, "PASS  %s  no problems found%s\n", names,
                run->options->check_full ? "" : " (--full checks more)");
        free(names);
    }
    strlist_clear(&hosts);
}

static json_t *doctor_json(const struct run *run, int status)
{
    struct doctor *doctor = run->job_data;
    json_t        *nodes = json_array(), *said;
    size_t         n;
    int            round;

    for (n = 0; n < run->plan->nodes; n++) {
        const struct conn_failure *why = run->outcome.node[n];

        said = json_array();
        for (round = ABOUT_NODE; round < ROUNDS; round++)
            if (node_task_lines(doctor->task, n, round) != NULL)
                json_array_extend(said,
                                  (json_t *)(uintptr_t)node_task_lines(doctor->task, n, round));
        json_array_append_new(
            nodes, json_pack("{s:s, s:o, s:o}", "node", run->plan->node[n].host, "error",
                             why != NULL ? json_text(why->text, strlen(why->text)) : json_null(),
                             "said", said));
    }
    return json_pack("{s:i, s:o, s:o}", "exit_status", status, "findings",
                     findings_json(&doctor->findings, run->plan), "nodes", nodes);
}
