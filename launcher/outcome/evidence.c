/* evidence.c - see evidence.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/evidence.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "frame.h"
#include "log.h"
#include "node/body.h"
#include "outcome/group.h"
#include "outcome/outcome.h"
#include "sanitize.h"
#include "xalloc.h"

#define TEXT_MAX 500 /* bytes of each text of a node that are kept */
#define TIME_SIZE 24
/* A rank that fails sooner does so for a reason of its own, as a rule. */
#define YOUNG_S 60.0

static const char *const severities[] = { "notice", "program", "error", "broken" };

static void take_item(struct evidence *evidence, const struct plan *plan, size_t node,
                      const json_t *body);
static int  severity_of(const char *name);
static const char *source_of(const json_t *body);
static struct evidence_item *find(const struct evidence *evidence, size_t node,
                                  const char *kind, const char *device, size_t *of_node);
static void  take_unread(struct evidence *evidence, const struct plan *plan, size_t node,
                         const char *why);
static char *copy(const json_t *body, const char *key);
static void  clear_item(struct evidence_item *item);
static char *words_of(const struct evidence_item *item);
static bool  is_shown(const struct outcome *outcome, const struct evidence_item *item);
static bool  is_of_rank(const struct outcome *outcome, const struct evidence_item *item);
static void  add_lines(const struct outcome *outcome, size_t node, bool near, int severity,
                       bool *done, struct strlist *lines);
static char *line_of(const struct outcome *outcome, size_t first, const struct groups *hosts);
static void  write_time(const char *iso, char text[TIME_SIZE]);
static void  add_unread(const struct outcome *outcome, size_t node, struct strlist *lines);
static bool  may_be_hardware(const struct outcome *outcome, enum outcome_first first);
static void  set_text(json_t *body, const char *key, const char *text);

void evidence_clear(struct evidence *evidence)
{
    evidence_forget(evidence, 0, SIZE_MAX);
    free(evidence->item);
    free(evidence->unread);
    *evidence = (struct evidence){ 0 };
}

void evidence_forget(struct evidence *evidence, size_t first_node, size_t nodes)
{
    size_t i, kept = 0;

    for (i = 0; i < evidence->count; i++)
        if (evidence->item[i].node - first_node < nodes)
            clear_item(&evidence->item[i]);
        else
            evidence->item[kept++] = evidence->item[i];
    evidence->count = kept;
    for (i = kept = 0; i < evidence->unreads; i++)
        if (evidence->unread[i].node - first_node < nodes)
            free(evidence->unread[i].why);
        else
            evidence->unread[kept++] = evidence->unread[i];
    evidence->unreads = kept;
}

static void clear_item(struct evidence_item *item)
{
    free(item->time);
    free(item->kind);
    free(item->device);
    free(item->what);
    free(item->action);
    free(item->text);
}

/* --- what a node says --------------------------------------------------------- */

void evidence_take(struct evidence *evidence, const struct plan *plan, size_t node,
                   const json_t *body)
{
    const json_t *item;
    size_t        i;

    json_array_foreach(json_object_get(body, "items"), i, item) if (i < EVIDENCE_NODE_MAX)
        take_item(evidence, plan, node, item);
    if (body_int(body, "more", 0) > 0)
        log_debug("%s: the kernel's log has more kinds of messages than are kept",
                  plan->node[node].host);
    if (body_text(body, "unread")[0] != '\0')
        take_unread(evidence, plan, node, body_text(body, "unread"));
}

static void take_item(struct evidence *evidence, const struct plan *plan, size_t node,
                      const json_t *body)
{
    const char           *kind = body_text(body, "kind"), *device = body_text(body, "device");
    int                   severity = severity_of(body_text(body, "severity"));
    int64_t               count = body_int(body, "count", 0);
    size_t                of_node, most = EVIDENCE_MAX;
    struct evidence_item *known;
    char                 *safe;

    if (severity < 0 || count < 1 || kind[0] == '\0')
        return;
    if ((known = find(evidence, node, kind, device, &of_node)) != NULL) {
        known->count = count;
        return;
    }
    if (severity < EVIDENCE_BROKEN)
        most -= EVIDENCE_SPARE;
    if (evidence->count >= most || of_node == EVIDENCE_NODE_MAX) {
        evidence->more++;
        return;
    }
    evidence->item = xreallocarray(evidence->item, evidence->count + 1, sizeof *evidence->item);
    known = &evidence->item[evidence->count++];
    *known = (struct evidence_item){ .node = node,
                                     .source = source_of(body),
                                     .severity = (enum evidence_severity)severity,
                                     .time = copy(body, "time"),
                                     .kind = copy(body, "kind"),
                                     .device = copy(body, "device"),
                                     .what = copy(body, "what"),
                                     .action = copy(body, "action"),
                                     .text = copy(body, "text"),
                                     .count = count,
                                     .pid = body_int(body, "pid", 0),
                                     .at_ns = clock_now_ns() };
    safe = evidence_words(known);
    log_info("%s: %s: %s", plan->node[node].host, known->source, safe);
    free(safe);
}

static int severity_of(const char *name)
{
    int i;

    for (i = 0; i < (int)(sizeof severities / sizeof *severities); i++)
        if (strcmp(severities[i], name) == 0)
            return i;
    return -1;
}

static const char *source_of(const json_t *body)
{
    return strcmp(body_text(body, "source"), "counters") == 0 ? "counters" : "kernel";
}

/* NULL: there is none. *of_node: the number that this node has. */
static struct evidence_item *find(const struct evidence *evidence, size_t node,
                                  const char *kind, const char *device, size_t *of_node)
{
    struct evidence_item *item;
    size_t                i;

    *of_node = 0;
    for (i = 0; i < evidence->count; i++) {
        item = &evidence->item[i];
        if (item->node != node)
            continue;
        ++*of_node;
        if (strncmp(item->kind, kind, TEXT_MAX) == 0 &&
            strncmp(item->device, device, TEXT_MAX) == 0)
            return item;
    }
    return NULL;
}

static void take_unread(struct evidence *evidence, const struct plan *plan, size_t node,
                        const char *why)
{
    size_t i;
    char  *safe;

    for (i = 0; i < evidence->unreads && evidence->unread[i].node != node; i++)
        ;
    if (i < evidence->unreads || i == EVIDENCE_MAX)
        return;
    evidence->unread = xreallocarray(evidence->unread, i + 1, sizeof *evidence->unread);
    evidence->unread[i] =
        (struct evidence_unread){ node, xstrndup(why, strnlen(why, TEXT_MAX)) };
    evidence->unreads = i + 1;
    safe = sanitize_text(evidence->unread[i].why, strlen(evidence->unread[i].why));
    log_info("%s: the kernel's log cannot be read: %s", plan->node[node].host, safe);
    free(safe);
}

static char *copy(const json_t *body, const char *key)
{
    const char *text = body_text(body, key);

    return xstrndup(text, strnlen(text, TEXT_MAX));
}

/* --- the report ---------------------------------------------------------------- */

void evidence_print(const struct outcome *outcome, FILE *out)
{
    struct strlist lines = { 0 };
    size_t         i;

    evidence_lines(outcome, &lines);
    for (i = 0; i < lines.count; i++)
        fprintf(out, "muster: %s\n", lines.item[i]);
    strlist_clear(&lines);
}

void evidence_tell(const struct outcome *outcome)
{
    struct strlist lines = { 0 };
    size_t         i;

    evidence_lines(outcome, &lines);
    for (i = 0; i < lines.count; i++)
        log_note("%s", lines.item[i]);
    strlist_clear(&lines);
}

void evidence_lines(const struct outcome *outcome, struct strlist *lines)
{
    const struct evidence *evidence = &outcome->evidence;
    size_t                 node = OUTCOME_NOT_OURS, i, left = 0;
    enum outcome_first     first = outcome_first(outcome, &node);
    bool                  *done = xcalloc(evidence->count + 1, sizeof *done);
    int                    severity, near;

    if (first == FIRST_RANK)
        node = outcome->node_of[outcome->first_rank];
    else if (first != FIRST_NODE)
        node = OUTCOME_NOT_OURS;
    for (near = 1; near >= 0; near--)
        for (severity = EVIDENCE_BROKEN; severity > EVIDENCE_NOTICE; severity--)
            add_lines(outcome, node, near, severity, done, lines);
    for (i = 0; i < evidence->count; i++)
        left += !done[i] && is_shown(outcome, &evidence->item[i]);
    if (left > 0) {
        char *more =
            xasprintf("the kernels and counters of the nodes have said %zu more things of that "
                      "kind: see --json",
                      left);

        strlist_add(lines, more);
        free(more);
    }
    if (may_be_hardware(outcome, first))
        add_unread(outcome, node, lines);
    free(done);
}

/* Adds a line for each thing of that severity that this node has said too (near), or that other
 * nodes have said. */
static void add_lines(const struct outcome *outcome, size_t node, bool near, int severity,
                      bool *done, struct strlist *lines)
{
    const struct evidence *evidence = &outcome->evidence;
    size_t                 i, j;

    for (i = 0; i < evidence->count && lines->count < EVIDENCE_LINES_MAX; i++) {
        struct groups hosts = { 0 };
        char         *words, *other, *line;

        if (done[i] || (int)evidence->item[i].severity != severity ||
            (near && evidence->item[i].node != node) || !is_shown(outcome, &evidence->item[i]))
            continue;
        words = words_of(&evidence->item[i]);
        for (j = 0; j < evidence->count; j++) {
            other = words_of(&evidence->item[j]);
            if (!done[j] && strcmp(words, other) == 0) {
                groups_add(&hosts, "", (int)evidence->item[j].node);
                done[j] = true;
            }
            free(other);
        }
        groups_sort(&hosts);
        line = line_of(outcome, i, &hosts);
        strlist_add(lines, line);
        free(line);
        free(words);
        groups_clear(&hosts);
    }
}

/* What the OOM killer did to a rank is in the line about that rank. */
static bool is_shown(const struct outcome *outcome, const struct evidence_item *item)
{
    const struct evidence *evidence = &outcome->evidence;
    size_t                 i;

    for (i = 0; item->pid > 0 && i < evidence->count; i++)
        if (evidence->item[i].pid == item->pid &&
            strcmp(evidence->item[i].device, item->device) == 0 &&
            is_of_rank(outcome, &evidence->item[i]))
            return false; /* several nodes may be one machine */
    return item->severity > EVIDENCE_NOTICE;
}

/* In a container the pid of a rank is not the kernel's, so the node decides, too. */
static bool is_of_rank(const struct outcome *outcome, const struct evidence_item *item)
{
    int rank;

    for (rank = 0; rank < outcome->ranks; rank++)
        if (outcome->rank[rank].oom != NULL &&
            (outcome->node_of[rank] == item->node || outcome->rank[rank].pid == item->pid))
            return true;
    return false;
}

/* "Xid 79, has fallen off the bus (GPU 0000:3b:00.0): reboot the node" */
static char *words_of(const struct evidence_item *item)
{
    bool has_device = item->device[0] != '\0', has_action = item->action[0] != '\0';

    return xasprintf("%s%s%s%s%s%s", item->what, has_device ? " (" : "", item->device,
                     has_device ? ")" : "", has_action ? ": " : "", item->action);
}

char *evidence_words(const struct evidence_item *item)
{
    char *words = words_of(item), *safe = sanitize_text(words, strlen(words));

    free(words);
    return safe;
}

/* "te2: kernel, 14:03:07, 12 times: ...", or "te2: counters, ..." */
static char *line_of(const struct outcome *outcome, size_t first, const struct groups *hosts)
{
    const struct evidence_item *item = &outcome->evidence.item[first];
    char                       *names = group_hosts(&hosts->group[0], outcome->plan);
    char                       *words = words_of(item), *line, *safe;
    char                        times[40] = "", at[TIME_SIZE];

    write_time(item->time, at);
    if (item->count > 1 && hosts->group[0].count == 1)
        snprintf(times, sizeof times, ", %lld times", (long long)item->count);
    line = xasprintf("%s: %s, %s%s: %s", names, item->source, at, times, words);
    safe = sanitize_text(line, strlen(line));
    free(line);
    free(words);
    free(names);
    return safe;
}

/* Shortens a time of the node's clock, 2026-11-30T14:03:07+0100: to the time of day, if that
 * was today. */
static void write_time(const char *iso, char text[TIME_SIZE])
{
    time_t    now = time(NULL);
    char      today[TIME_SIZE] = "";
    struct tm local;

    if (localtime_r(&now, &local) != NULL)
        strftime(today, sizeof today, "%Y-%m-%dT", &local);
    if (today[0] != '\0' && strncmp(iso, today, strlen(today)) == 0)
        snprintf(text, TIME_SIZE, "%.8s", iso + strlen(today));
    else
        snprintf(text, TIME_SIZE, "%.19s", iso);
}

/* Adds a line about the kernel's log of this node, or of all nodes, if it could not be read. */
static void add_unread(const struct outcome *outcome, size_t node, struct strlist *lines)
{
    const struct evidence *evidence = &outcome->evidence;
    struct groups          groups = { 0 };
    char                  *names, *line;
    size_t                 i;

    for (i = 0; i < evidence->unreads; i++)
        if (node == OUTCOME_NOT_OURS || evidence->unread[i].node == node)
            groups_add(&groups, evidence->unread[i].why, (int)evidence->unread[i].node);
    for (i = 0; i < groups.count && i < EVIDENCE_LINES_MAX; i++) {
        groups_sort(&groups);
        names = group_hosts(&groups.group[i], outcome->plan);
        line = xasprintf("the kernel's log of %s could not be read: %s", names,
                         groups.group[i].key);
        free(names);
        names = sanitize_text(line, strlen(line));
        strlist_add(lines, names);
        free(names);
        free(line);
    }
    groups_clear(&groups);
}

/* Would the kernel's log be the next place to look? */
static bool may_be_hardware(const struct outcome *outcome, enum outcome_first first)
{
    const struct rank_end *end;

    if (first != FIRST_RANK)
        return outcome->has_begun && (first == FIRST_NODE || outcome->cause == EXIT_TIMEOUT);
    end = &outcome->rank[outcome->first_rank];
    return end->started && ((end->signal != 0 && end->signal != outcome->sent) ||
                            (double)(end->end_ns - end->start_ns) / NS_PER_S > YOUNG_S);
}

/* --- JSON ----------------------------------------------------------------------- */

json_t *evidence_json(const struct evidence *evidence, const struct plan *plan)
{
    json_t *list = json_array(), *body;
    size_t  i;

    for (i = 0; i < evidence->count; i++) {
        const struct evidence_item *item = &evidence->item[i];

        body = json_pack("{s:s, s:I, s:s}", "node", plan->node[item->node].host, "count",
                         (json_int_t)item->count, "severity", severities[item->severity]);
        set_text(body, "source", item->source);
        set_text(body, "time", item->time);
        set_text(body, "kind", item->kind);
        set_text(body, "device", item->device);
        set_text(body, "what", item->what);
        set_text(body, "action", item->action);
        set_text(body, "text", item->text);
        json_array_append_new(list, body);
    }
    return list;
}

json_t *evidence_unread_json(const struct evidence *evidence, const struct plan *plan)
{
    json_t *list = json_array(), *body;
    size_t  i;

    for (i = 0; i < evidence->unreads; i++) {
        body = json_pack("{s:s}", "node", plan->node[evidence->unread[i].node].host);
        set_text(body, "text", evidence->unread[i].why);
        json_array_append_new(list, body);
    }
    return list;
}

/* A text may have been cut within a character. */
static void set_text(json_t *body, const char *key, const char *text)
{
    json_object_set_new(body, key, json_text(text, strlen(text)));
}
