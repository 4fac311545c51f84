/* remains.c - see remains.h
 *
 * A node job like muster clean, which only looks (CLEAN without "kill"). It is repeated on the
 * nodes where something is left.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/remains.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "course/launch.h"
#include "log.h"
#include "node/liveness.h"
#include "plan/hostfile.h"
#include "plan/select.h"
#include "run/run.h"
#include "sanitize.h"
#include "xalloc.h"

#define LOOK_S      60.0 /* the time for a node to look through its processes */
#define LOOK_SILENT_S 15.0 /* minimum --dead-after here: no rank waits for a silent node */
#define AGAIN_MS    500
#define RECONNECT_S 10.0 /* the longest time that an agent waits with --reconnect=auto */
#define STUCK_S     10.0 /* for processes that survive SIGKILL */
#define SURE_S      5.0

enum answer { ANSWER_NONE, ANSWER_EMPTY, ANSWER_LEFT };

struct remains {
    struct node_job       job;
    const struct options *options;
    const char           *id;
    struct hostlist       hosts; /* hosts of the run */
    enum answer          *answer; /* by host */
    char                **words;  /* by host: what is left, "3 processes, the first is ..." */
};

static int  hosts_of(const json_t *plan, const json_t *ranks, struct hostlist *hosts,
                     struct error *err);
static void add_late(struct buffer *text, const json_t *ranks, struct strlist *known);
static void add_word(struct buffer *line, const char *key, const json_t *value);
static double limit_s(const struct options *options);
static int  look(struct remains *remains, enum answer which);
static bool any(const struct remains *remains, enum answer which);
static void tell(const struct remains *remains, enum answer which, double waited_s);
static void tell_wait(const struct remains *remains);
static void nap(double seconds);
static void forget(struct remains *remains);
static int  prepare(const struct run *run, void **data);
static void ask(struct run *run, struct node *node);
static bool take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body);
static int  report(const struct run *run, int status, FILE *out, FILE *err);
static void free_nothing(const struct run *run, void *data);
static struct remains *of(const struct run *run);
static size_t index_of(const struct remains *remains, const struct node *node);

int remains_await(const struct options *options, const char *id, const json_t *plan,
                  const json_t *ranks)
{
    struct remains remains = { .job = { .prepare = prepare, .begin = ask, .frame = take,
                                        .report = report, .free = free_nothing },
                               .options = options, .id = id };
    struct error   err;
    int64_t        since_ns = clock_now_ns();
    double         most_s = limit_s(options), waited_s = 0;
    int            status;

    if (hosts_of(plan, ranks, &remains.hosts, &err) < 0) {
        log_error("%s: its plan.json is damaged: %s", id, err.text);
        return EXIT_DATA;
    }
    remains.answer = xcalloc(remains.hosts.count, sizeof *remains.answer);
    remains.words = xcalloc(remains.hosts.count, sizeof *remains.words);
    status = look(&remains, ANSWER_NONE);
    if (status == 0 && (any(&remains, ANSWER_LEFT) || any(&remains, ANSWER_NONE)))
        tell_wait(&remains);
    while (status == 0 && any(&remains, ANSWER_LEFT) && waited_s < most_s) {
        nap(AGAIN_MS / 1000.0);
        status = look(&remains, ANSWER_LEFT);
        waited_s = (double)(clock_now_ns() - since_ns) / NS_PER_S;
    }
    if (status == 0 && !any(&remains, ANSWER_LEFT) && any(&remains, ANSWER_NONE)) {
        nap(most_s - waited_s);
        waited_s = most_s;
        status = look(&remains, ANSWER_NONE); /* a stopped agent's lease does not expire */
    }
    if (status == 0 && any(&remains, ANSWER_LEFT)) {
        tell(&remains, ANSWER_LEFT, waited_s);
        status = EXIT_WAITED;
    } else if (status == 0) {
        tell(&remains, ANSWER_NONE, most_s);
    }
    forget(&remains);
    return status;
}

/* Parses the hosts as a hostfile, which rejects invalid names. */
static int hosts_of(const json_t *plan, const json_t *ranks, struct hostlist *hosts,
                    struct error *err)
{
    struct buffer  text = { 0 };
    struct strlist known = { 0 };
    const json_t  *node;
    size_t         i;
    int            rc;

    json_array_foreach(json_object_get(plan, "nodes"), i, node) {
        const char *host = json_string_value(json_object_get(node, "host"));

        if (host != NULL && strlist_has(&known, host))
            continue; /* two roles share it */
        strlist_add(&known, host != NULL ? host : "?");
        buffer_add_text(&text, host != NULL ? host : "?");
        buffer_add_text(&text, " slots=1");
        add_word(&text, " addr=", json_object_get(node, "addr"));
        add_word(&text, " user=", json_object_get(node, "user"));
        add_word(&text, " port=", json_object_get(node, "port"));
        buffer_add_text(&text, "\n");
    }
    add_late(&text, ranks, &known);
    strlist_clear(&known);
    buffer_add(&text, "", 1);
    rc = hostfile_parse("nodes", text.bytes, text.size - 1, hosts, err);
    buffer_clear(&text);
    return rc;
}

/* Adds nodes that replaced lost ones: only their names are known. */
static void add_late(struct buffer *text, const json_t *ranks, struct strlist *known)
{
    const json_t *rank;
    size_t        i;

    json_array_foreach(ranks, i, rank) {
        const char *host = json_string_value(json_object_get(rank, "node"));

        if (host == NULL || strlist_has(known, host))
            continue;
        strlist_add(known, host);
        buffer_add_text(text, host);
        buffer_add_text(text, " slots=1\n");
    }
}

static void add_word(struct buffer *line, const char *key, const json_t *value)
{
    char *word;

    if (!json_is_string(value) && json_integer_value(value) <= 0)
        return;
    word = json_is_string(value) ? xasprintf("%s%s", key, json_string_value(value))
                                 : xasprintf("%s%lld", key, (long long)json_integer_value(value));
    buffer_add_text(line, word);
    free(word);
}

/* Returns how long the agents of the run may take, without a launcher, until nothing is
 * left. */
static double limit_s(const struct options *options)
{
    double reconnect_s = options->reconnect_s >= 0 ? options->reconnect_s : RECONNECT_S;

    return liveness_agent_s(options->dead_after_s) + reconnect_s + options->grace_s + STUCK_S +
           SURE_S;
}

/* Looks again at the nodes whose last answer is which. A node that does not answer keeps its
 * last answer. Returns 0, or the exit status of a look that was interrupted or could not
 * begin. */
static int look(struct remains *remains, enum answer which)
{
    struct options   asking = *remains->options; /* borrows the texts of options */
    struct selection chosen = { .node = xcalloc(remains->hosts.count, sizeof *chosen.node) };
    struct program   none = { 0 };
    struct plan      plan;
    struct error     err;
    int              slot = 0, status;
    size_t           i;

    for (i = 0; i < remains->hosts.count; i++)
        if (remains->answer[i] == which)
            chosen.node[chosen.count++] = (struct selected){ .host = &remains->hosts.host[i],
                                                             .slot = &slot, .slots = 1 };
    asking.command = COMMAND_CLEAN; /* a job without ranks */
    asking.json = asking.show_ranks = asking.log_dir = asking.each_rank_log = NULL;
    asking.name = asking.resumed = NULL;
    asking.save_pid = asking.detach = false;
    asking.first_generation = 0;
    if (asking.dead_after_s < LOOK_SILENT_S)
        asking.dead_after_s = LOOK_SILENT_S;
    if (plan_make(&plan, &asking, &chosen, &none, environ, &err) < 0) {
        log_error("%s", err.text);
        status = EXIT_USAGE;
    } else {
        status = launch_run(&asking, &plan, &remains->job, NULL);
        plan_clear(&plan);
    }
    free(chosen.node);
    return status;
}

static bool any(const struct remains *remains, enum answer which)
{
    size_t i;

    for (i = 0; i < remains->hosts.count; i++)
        if (remains->answer[i] == which)
            return true;
    return false;
}

static void tell_wait(const struct remains *remains)
{
    size_t i;

    for (i = 0; i < remains->hosts.count; i++)
        if (remains->answer[i] != ANSWER_EMPTY)
            log_note("%s: %s; waiting until nothing is left there (at most %.0f s)",
                     remains->hosts.host[i].name,
                     remains->words[i] != NULL ? remains->words[i] : "does not answer",
                     limit_s(remains->options));
}

static void tell(const struct remains *remains, enum answer which, double waited_s)
{
    size_t i;

    for (i = 0; i < remains->hosts.count; i++) {
        const char *host = remains->hosts.host[i].name;

        if (remains->answer[i] != which)
            continue;
        if (which == ANSWER_NONE)
            log_warn("%s: did not answer; without its launcher it has ended everything within "
                     "%.0f s",
                     host, waited_s);
        else
            log_error("%s: %s after %.0f s; to kill them: muster clean --kill --run %s -H %s",
                      host, remains->words[i], waited_s, remains->id, host);
    }
}

static void nap(double seconds)
{
    struct timespec pause = { .tv_sec = (time_t)seconds };

    if (seconds <= 0)
        return;
    pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
    nanosleep(&pause, NULL);
}

static void forget(struct remains *remains)
{
    size_t i;

    for (i = 0; i < remains->hosts.count; i++)
        free(remains->words[i]);
    free(remains->words);
    free(remains->answer);
    hostlist_clear(&remains->hosts);
}

/* --- the job ---------------------------------------------------------------- */

static int prepare(const struct run *run, void **data)
{
    (void)run;
    *data = NULL;
    return 0;
}

static void ask(struct run *run, struct node *node)
{
    node_enter(node, NODE_PROBING, LOOK_S);
    node_send(node, FRAME_CLEAN, json_pack("{s:b, s:f, s:s}", "kill", 0, "grace_s", 0.0, "run",
                                           of(run)->id));
}

static bool take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body)
{
    struct remains *remains = of(run);
    size_t          i = index_of(remains, node);
    const json_t   *list = json_object_get(body, "processes"), *first = json_array_get(list, 0);
    const char     *command = json_string_value(json_object_get(first, "command"));
    char           *shown;

    if (frame->type != FRAME_CLEANED || node->state != NODE_PROBING)
        return false;
    remains->answer[i] = json_array_size(list) > 0 ? ANSWER_LEFT : ANSWER_EMPTY;
    free(remains->words[i]);
    remains->words[i] = NULL;
    if (remains->answer[i] == ANSWER_LEFT) {
        shown = command != NULL ? sanitize_text(command, strlen(command)) : xstrdup("?");
        remains->words[i] =
            xasprintf("%zu of its processes %s still there (%s: pid %lld)", json_array_size(list),
                      json_array_size(list) == 1 ? "is" : "are", shown,
                      (long long)json_integer_value(json_object_get(first, "pid")));
        free(shown);
    }
    node_enter(node, NODE_PROBED, 0);
    return true;
}

/* Ignores failed nodes: they have been reported, and keep their last answer. */
static int report(const struct run *run, int status, FILE *out, FILE *err)
{
    (void)out, (void)err;
    return run->outcome.cause != 0 ? status : 0;
}

static void free_nothing(const struct run *run, void *data)
{
    (void)run, (void)data;
}

static struct remains *of(const struct run *run)
{
    return (struct remains *)(void *)run->job;
}

static size_t index_of(const struct remains *remains, const struct node *node)
{
    size_t i = 0;

    while (strcmp(remains->hosts.host[i].name, node->plan->host) != 0)
        i++;
    return i;
}
