/* collect_report.c - reports the result of `muster collect`
 *
 *     te[1-2]: 3 files came, 1.2 MiB
 *     te3: nothing came: everything is here already
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/collect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static void  print_nodes(const struct run *run, FILE *out);
static char *words_of(const struct gather *gather);

int collect_report(const struct run *run, int status, FILE *out, FILE *err)
{
    struct collect *collect = run->job_data;
    const char     *json = run->options->json;
    size_t          n;

    if (json == NULL || strcmp(json, "-") != 0)
        print_nodes(run, out);
    failures_print(&collect->failed, run->plan, FAILURES_TITLE, err);
    for (n = 0; n < run->plan->nodes && status == 0; n++)
        status = collect->gather[n].has_failed ? EXIT_CREATE
                 : collect->gather[n].is_done  ? 0
                                               : EXIT_INTERNAL;
    return status;
}

static void print_nodes(const struct run *run, FILE *out)
{
    const struct collect *collect = run->job_data;
    struct groups         groups = { 0 };
    char                 *words, *names;
    size_t                n, i;

    for (n = 0; n < run->plan->nodes; n++) {
        if (!collect->gather[n].is_done || run->outcome.node[n] != NULL)
            continue;
        words = words_of(&collect->gather[n]);
        groups_add(&groups, words, (int)n);
        free(words);
    }
    for (i = 0; i < groups.count; i++) {
        names = group_hosts(&groups.group[i], run->plan);
        fprintf(out, "%s: %s\n", names, groups.group[i].key);
        free(names);
    }
    groups_clear(&groups);
}

/* Caller frees. */
static char *words_of(const struct gather *gather)
{
    char *bytes, *words;

    if (gather->counts.files == 0 && !gather->has_failed)
        return xstrdup("nothing copied: everything is already here");
    bytes = size_words(gather->counts.bytes);
    words = xasprintf("%" PRIu64 " file%s copied, %s", gather->counts.files,
                      gather->counts.files == 1 ? "" : "s", bytes);
    free(bytes);
    return words;
}

json_t *collect_json(const struct run *run, int status)
{
    const struct collect *collect = run->job_data;
    json_t               *nodes = json_array();
    size_t                i;

    for (i = 0; i < run->plan->nodes; i++) {
        const struct conn_failure *why = run->outcome.node[i];
        const struct gather       *gather = &collect->gather[i];

        json_array_append_new(
            nodes, json_pack("{s:s, s:o, s:b, s:I, s:I}", "node", run->plan->node[i].host,
                             "error", why != NULL ? json_text(why->text, strlen(why->text))
                                                  : json_null(),
                             "complete", gather->is_done && !gather->has_failed && why == NULL,
                             "files_sent", (json_int_t)gather->counts.files, "bytes_sent",
                             (json_int_t)gather->counts.bytes));
    }
    return json_pack("{s:i, s:o, s:o}", "exit_status", status, "nodes", nodes, "failures",
                     failures_json(&collect->failed, run->plan));
}
