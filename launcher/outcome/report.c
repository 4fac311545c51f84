/* report.c - reports how a run ended
 *
 *     muster: rank 2 on te2 failed first: exit 3 (4.2 s after its start)
 *       | the last lines that it wrote
 *     muster: te2: kernel, 14:03:07: Xid 79, has fallen off the bus (GPU 0000:3b:00.0): ...
 *     muster: rank 5 failed too: exit 1, with the same last line
 *     muster: ended after that: ranks 0-1,3-4 by SIGTERM
 *
 * or a table of the nodes that failed. The first failure comes first, and ranks or nodes with
 * the same text share a line.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/outcome.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "hostrange.h"
#include "outcome/common_text.h"
#include "outcome/group.h"
#include "outcome/rank_hint.h"
#include "outcome/wrap.h"
#include "output/output.h"
#include "sanitize.h"
#include "strlist.h"
#include "xalloc.h"

#define WORDS_MAX  1200 /* bytes of the text about a rank's end */
#define GROUPS_MAX 16   /* lines for the other ranks that failed */

static void        report_lost(const struct outcome *outcome, FILE *out);
static void        report_nodes(const struct outcome *outcome, size_t columns, FILE *out);
static void        group_nodes(const struct outcome *outcome, struct groups *rows,
                               struct groups *hints, struct groups *cleanups);
static const char *cause_of(const struct outcome *outcome, int node);
static const char *hint_of(const struct outcome *outcome, int node);
static const char *cleanup_of(const struct outcome *outcome, int node);
static bool        may_have_started(const struct outcome *outcome);
static void        print_rows(const struct outcome *outcome, const struct groups *rows,
                              size_t columns, FILE *out);
static void        print_safe(const char *text, FILE *out);
static int         widest(int width, const char *text);
static void        print_notes(const struct outcome *outcome, const char *what,
                               const struct groups *notes, common_text_reader *text_of, FILE *out);
static void        report_first_rank(const struct outcome *outcome,
                                     const struct output *output, FILE *out);
static const char *host_of(const struct outcome *outcome, int rank);
static void        report_too(const struct outcome *outcome, const struct output *output,
                              FILE *out);
static char       *last_words(const struct output *output, int rank, int first);
static void        tail_of(const struct output *output, int rank, struct strlist *lines);
static bool        same_but_numbers(const char *one, const char *other);
static char       *without_numbers(const char *text);
static void        report_after(const struct outcome *outcome, FILE *out);
static void        report_exec(const struct outcome *outcome, FILE *out);
static char       *words_of(const struct rank_end *end);
static void        report_slow(const struct outcome *outcome, FILE *out);

void outcome_report(const struct outcome *outcome, const struct output *output, size_t columns,
                    FILE *out)
{
    size_t             node;
    enum outcome_first first = outcome_first(outcome, &node);

    if (first == FIRST_CAUSE) {
        char *text = sanitize_text(outcome->cause_text, strlen(outcome->cause_text));

        fprintf(out, "muster: %s\n", text);
        free(text);
        if (outcome->is_reader_gone && outcome->cause == EXIT_OUTPUT)
            return;
    }
    if (first != FIRST_CAUSE && outcome->apart_text != NULL) {
        fputs("muster: ", out);
        print_safe(outcome->apart_text, out);
    }
    if (first == FIRST_NODE || outcome->is_exec)
        report_nodes(outcome, columns, out);
    if (outcome->is_exec) {
        report_exec(outcome, out);
    } else {
        report_first_rank(outcome, output, out);
        if (first != FIRST_NONE)
            evidence_print(outcome, out);
        if (first != FIRST_NONE)
            flight_records_print(&outcome->flight, outcome->plan, out);
        report_too(outcome, output, out);
        if (first != FIRST_NODE)
            report_nodes(outcome, columns, out);
        report_after(outcome, out);
    }
    if (first != FIRST_NONE && (outcome->has_begun || outcome->plan->command == COMMAND_CHECK))
        cautions_print(&outcome->cautions, out);
    report_slow(outcome, out);
    slow_list_print(outcome->slow, (double)time(NULL), out);
    if (!outcome->is_reader_gone)
        report_lost(outcome, out);
    fflush(out);
}

static void report_lost(const struct outcome *outcome, FILE *out)
{
    char *why = sanitize_text(outcome->output_why, strlen(outcome->output_why));

    if (outcome->lost_bytes > 0)
        fprintf(out, "muster: %llu bytes of output were lost%s%s\n",
                (unsigned long long)outcome->lost_bytes, why[0] != '\0' ? ": " : "", why);
    else if (why[0] != '\0')
        fprintf(out, "muster: output may be missing: %s\n", why);
    free(why);
}

/* --- nodes ------------------------------------------------------------------ */

static void report_nodes(const struct outcome *outcome, size_t columns, FILE *out)
{
    struct groups rows = { 0 }, hints = { 0 }, cleanups = { 0 };
    size_t        i, failed = 0;

    group_nodes(outcome, &rows, &hints, &cleanups);
    for (i = 0; i < rows.count; i++)
        failed += rows.group[i].count;
    if (failed > 0) {
        fprintf(out, "muster: %zu of %zu %s failed%s\n", failed, outcome->plan->nodes,
                outcome->plan->nodes == 1 ? "node" : "nodes",
                outcome->plan->world_size == 0 || may_have_started(outcome) ? ":"
                : outcome->plan->generation > 0 ? "; nothing was started again:"
                                                : "; nothing was started:");
        print_rows(outcome, &rows, columns, out);
    }
    print_notes(outcome, "cleaned up", &cleanups, cleanup_of, out);
    print_notes(outcome, "hint", &hints, hint_of, out);
    groups_clear(&rows);
    groups_clear(&hints);
    groups_clear(&cleanups);
}

/* Groups the failed nodes for the rows of the table, by hints, and by cleanup results. The key
 * of a row is stage and cause, separated by a newline. */
static void group_nodes(const struct outcome *outcome, struct groups *rows,
                        struct groups *hints, struct groups *cleanups)
{
    size_t n;

    for (n = 0; n < outcome->plan->nodes; n++) {
        const struct plan_node    *node = &outcome->plan->node[n];
        const struct conn_failure *why = outcome->node[n];
        char                      *text, *row;

        if (why == NULL)
            continue;
        text = common_text_key(why->text, node);
        row = xasprintf("%s\n%s", why->stage, text);
        groups_add(rows, row, (int)n);
        free(row);
        free(text);
        if (why->hint[0] != '\0') {
            text = common_text_key(why->hint, node);
            groups_add(hints, text, (int)n);
            free(text);
        }
        if (outcome->cleaned[n].text != NULL)
            groups_add(cleanups, outcome->cleaned[n].text, (int)n);
    }
}

static const char *cause_of(const struct outcome *outcome, int node)
{
    return outcome->node[node]->text;
}

static const char *hint_of(const struct outcome *outcome, int node)
{
    return outcome->node[node]->hint;
}

static const char *cleanup_of(const struct outcome *outcome, int node)
{
    return outcome->cleaned[node].text;
}

static bool may_have_started(const struct outcome *outcome)
{
    return outcome->has_begun || outcome_any_started(outcome);
}

static void print_rows(const struct outcome *outcome, const struct groups *rows, size_t columns,
                       FILE *out)
{
    char **names = xcalloc(rows->count, sizeof *names);
    int    name_width = 4, stage_width = 5;
    size_t i;

    for (i = 0; i < rows->count; i++) {
        char *cause = strchr(rows->group[i].key, '\n');

        *cause = '\0';
        names[i] = group_hosts(&rows->group[i], outcome->plan);
        name_width = widest(name_width, names[i]);
        stage_width = widest(stage_width, rows->group[i].key);
    }
    name_width = name_width > 40 ? 40 : name_width;
    fprintf(out, "  %-*s  %-*s  %s\n", name_width, "node", stage_width, "stage", "cause");
    for (i = 0; i < rows->count; i++) {
        const char *stage = rows->group[i].key;
        char       *cause =
            common_text_cause(&rows->group[i], stage + strlen(stage) + 1, outcome, cause_of);

        fprintf(out, "  %-*s  %-*s  ", name_width, names[i], stage_width, stage);
        wrap_print(cause, (size_t)(name_width + stage_width) + 6, columns, out);
        free(cause);
        free(names[i]);
    }
    free(names);
}

/* Prints the rest of a line. */
static void print_safe(const char *text, FILE *out)
{
    char *safe = sanitize_text(text, strlen(text));

    fprintf(out, "%s\n", safe);
    free(safe);
}

static int widest(int width, const char *text)
{
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

/* Prints "  hint: te[1-3]: ...". */
static void print_notes(const struct outcome *outcome, const char *what,
                        const struct groups *notes, common_text_reader *text_of, FILE *out)
{
    size_t i;

    for (i = 0; i < notes->count; i++) {
        char *names = group_hosts(&notes->group[i], outcome->plan);
        char *text = common_text_hint(&notes->group[i], outcome, text_of);

        fprintf(out, "  %s: %s: ", what, names);
        print_safe(text, out);
        free(text);
        free(names);
    }
}

/* --- ranks ------------------------------------------------------------------ */

static void report_first_rank(const struct outcome *outcome, const struct output *output,
                              FILE *out)
{
    const struct rank_end *end;
    struct strlist         lines = { 0 };
    char                  *words, *hint, name[PLAN_RANK_NAME];
    size_t                 i, node;

    if (outcome->first_rank < 0)
        return;
    end = &outcome->rank[outcome->first_rank];
    words = words_of(end);
    fprintf(out, "muster: %s on %s failed%s: %s",
            plan_rank_name(outcome->plan, outcome->first_rank, name),
            host_of(outcome, outcome->first_rank),
            outcome_first(outcome, &node) == FIRST_RANK ? " first" : "", words);
    if (end->started)
        fprintf(out, " (%.1f s after its start)",
                (double)(end->end_ns - end->start_ns) / NS_PER_S);
    fputc('\n', out);
    tail_of(output, outcome->first_rank, &lines);
    for (i = 0; i < lines.count && outcome->plan->command != COMMAND_CHECK; i++)
        fprintf(out, "  | %s\n", lines.item[i]); /* muster check has just printed the error */
    hint = rank_hint(outcome, outcome->first_rank, &lines);
    if (hint != NULL)
        fprintf(out, "  hint: %s\n", hint);
    free(hint);
    strlist_clear(&lines);
    free(words);
}

static const char *host_of(const struct outcome *outcome, int rank)
{
    return plan_label(&outcome->plan->node[outcome->node_of[rank]]);
}

/* Reports other ranks that failed before STOP reached them. */
static void report_too(const struct outcome *outcome, const struct output *output, FILE *out)
{
    struct groups groups = { 0 };
    size_t        i;
    int           rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        char *words, *last, *alike, *key;

        if (rank == outcome->first_rank || !rank_end_is_failure(&outcome->rank[rank]))
            continue;
        words = words_of(&outcome->rank[rank]);
        last = last_words(output, rank, outcome->first_rank);
        alike = without_numbers(last);
        key = xasprintf("%s%s", words, alike);
        groups_add(&groups, key, rank);
        free(key);
        free(alike);
        free(last);
        free(words);
    }
    for (i = 0; i < groups.count && i < GROUPS_MAX; i++) {
        char *names = group_ranks(&groups.group[i], outcome->plan);
        char *words = words_of(&outcome->rank[groups.group[i].member[0]]);
        char *last = last_words(output, groups.group[i].member[0], outcome->first_rank);

        fprintf(out, "muster: %s failed too: %s%s\n", names, words, last);
        free(last);
        free(words);
        free(names);
    }
    if (i < groups.count)
        fprintf(out, "muster: more ranks failed in %zu other ways\n", groups.count - i);
    groups_clear(&groups);
}

/* Returns the last line of a failed rank, or a note that it equals that of the first one. */
static char *last_words(const struct output *output, int rank, int first)
{
    struct strlist lines = { 0 }, firsts = { 0 };
    char          *text;

    tail_of(output, rank, &lines);
    tail_of(output, first, &firsts);
    if (lines.count == 0)
        text = xstrdup("");
    else if (firsts.count > 0 && strcmp(lines.item[lines.count - 1],
                                        firsts.item[firsts.count - 1]) == 0)
        text = xstrdup(", with the same last line");
    else if (firsts.count > 0 && same_but_numbers(lines.item[lines.count - 1],
                                                  firsts.item[firsts.count - 1]))
        text = xstrdup(", with the same last line except for numbers");
    else
        text = xasprintf("\n  | %s", lines.item[lines.count - 1]);
    strlist_clear(&lines);
    strlist_clear(&firsts);
    return text;
}

static void tail_of(const struct output *output, int rank, struct strlist *lines)
{
    if (output != NULL)
        output_tail(output, rank, lines);
}

static bool same_but_numbers(const char *one, const char *other)
{
    char *a = without_numbers(one), *b = without_numbers(other);
    bool  same = strcmp(a, b) == 0;

    free(a);
    free(b);
    return same;
}

/* Replaces each number by '#', since the lines of ranks differ in ranks, ports and addresses.
 * Caller frees. */
static char *without_numbers(const char *text)
{
    char *copy = xstrdup(text), *to = copy;

    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text))
            *to++ = *text;
        else if (to == copy || to[-1] != '#')
            *to++ = '#';
    }
    *to = '\0';
    return copy;
}

/* Reports in one line the ranks that STOP ended, and those whose end is unknown. */
static void report_after(const struct outcome *outcome, FILE *out)
{
    struct groups groups = { 0 };
    size_t        i;
    int           rank;

    if (outcome_status(outcome) == 0) /* only services were stopped */
        return;
    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];
        char                  *words;

        if (!end->started || (end->ended && !end->after_stop))
            continue;
        words = words_of(end);
        groups_add(&groups, strncmp(words, "killed ", 7) == 0 ? words + 7 : words, rank);
        free(words);
    }
    if (groups.count > 0)
        fprintf(out, "muster: ended after that: ");
    for (i = 0; i < groups.count && i < GROUPS_MAX; i++) {
        char *names = group_ranks(&groups.group[i], outcome->plan);

        fprintf(out, "%s%s %s", i > 0 ? "; " : "", names, groups.group[i].key);
        free(names);
    }
    if (groups.count > 0)
        fprintf(out, "%s\n", i < groups.count ? "; ..." : "");
    groups_clear(&groups);
}

/* Reports commands that did not exit with 0, grouped by status. */
/* Whoever has ended a command in a terminal knows with what it ended. */
static void report_exec(const struct outcome *outcome, FILE *out)
{
    struct groups groups = { 0 };
    size_t        i;
    int           rank;

    for (rank = 0; rank < outcome->plan->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];
        size_t                 node = outcome->node_of[rank];
        char                  *words;

        if (!end->ended || (end->code == 0 && end->signal == 0 && end->error == NULL) ||
            node == OUTCOME_NOT_OURS ||
            (outcome->plan->has_terminal && end->signal == 0 && end->error == NULL))
            continue;
        words = words_of(end);
        groups_add(&groups, words, (int)node);
        free(words);
    }
    for (i = 0; i < groups.count; i++) {
        char *names = group_hosts(&groups.group[i], outcome->plan);

        fprintf(out, "muster: %s: %s\n", names, groups.group[i].key);
        free(names);
    }
    groups_clear(&groups);
}

/* Returns how a rank ended, safe to print; caller frees. */
static char *words_of(const struct rank_end *end)
{
    char words[WORDS_MAX];

    rank_end_words(end, words, sizeof words);
    return sanitize_text(words, strlen(words));
}

/* Repeats the warnings about slow nodes, which may be days old. */
static void report_slow(const struct outcome *outcome, FILE *out)
{
    struct strlist hosts = { 0 };
    int64_t        most_ns = 0;
    char          *names;
    size_t         n;

    for (n = 0; n < outcome->plan->nodes; n++) {
        if (!outcome->pace[n].was_slow)
            continue;
        strlist_add(&hosts, outcome->plan->node[n].host);
        if (outcome->pace[n].most_ns > most_ns)
            most_ns = outcome->pace[n].most_ns;
    }
    if (hosts.count > 0) {
        names = hostrange_fold(&hosts);
        fprintf(
            out,
            "muster: slow: %s (heartbeat round trips of up to %.1f s; see --json for all)\n",
            names, (double)most_ns / NS_PER_S);
        free(names);
    }
    strlist_clear(&hosts);
}
