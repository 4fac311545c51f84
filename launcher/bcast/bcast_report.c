/* bcast_report.c - reports the result of `muster bcast`
 *
 *     te[1-3]: 3 of 12 files sent, 1.2 MiB; the others are there already
 *     te5: skipped: this is the source
 *     muster: not everything arrived
 *       te4  /home/me/train.py: cannot write: No space left on device
 *     muster: some links lead to nothing on the nodes; copy what they lead to, too
 *       te5  /home/me/venv/bin/python: leads to /opt/python/bin/python, which is not there
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/bcast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define DANGLING_TITLE "some links lead to nothing on the nodes; copy what they lead to, too"

static char   *path_of(const struct tree *tree, size_t item);
static void    print_copies(const struct run *run, FILE *out);
static char   *words_of(const struct bcast *bcast, const struct copy *copy);

void bcast_failed(struct run *run, const struct node *node, size_t tree_number, size_t item,
                  const char *what, const char *why)
{
    struct bcast *bcast = bcast_of(run);
    struct copy  *copy = &bcast->copy[node->index];
    struct tree  *tree = &bcast->trees.tree[tree_number];
    char         *path = path_of(tree, item);

    copy->has_failed = true;
    failures_add(&bcast->failed, node, &copy->failures, path, what, why);
    free(path);
}

void bcast_dangling(struct run *run, const struct node *node, size_t tree_number, size_t item)
{
    struct bcast *bcast = bcast_of(run);
    struct copy  *copy = &bcast->copy[node->index];
    struct tree  *tree = &bcast->trees.tree[tree_number];
    char         *path = path_of(tree, item);
    char         *why = xasprintf("leads to %s, which is not there", tree->item[item].target);

    failures_add(&bcast->dangling, node, &copy->danglings, path, "", why);
    free(why);
    free(path);
}

/* Returns the path on a node; caller frees. */
static char *path_of(const struct tree *tree, size_t item)
{
    return xasprintf("%s/%s", strcmp(tree->root, "/") != 0 ? tree->root : "",
                     tree->item[item].path);
}

void bcast_progress(struct run *run, double seconds)
{
    struct bcast *bcast = bcast_of(run);
    size_t        n;

    for (n = 0; n < run->plan->nodes; n++) {
        bcast->progress[n].bytes = bcast->copy[n].bytes;
        bcast->progress[n].is_done = bcast->copy[n].is_done;
    }
    bcast_progress_show(run, bcast->progress, seconds);
}

int bcast_report(const struct run *run, int status, FILE *out, FILE *err)
{
    const char *json = run->options->json;
    size_t      n;

    if (out != NULL && !origin_has_failed(bcast_of(run)) &&
        (json == NULL || strcmp(json, "-") != 0))
        print_copies(run, out);
    failures_print(&bcast_of(run)->failed, run->plan, FAILURES_TITLE, err);
    failures_print(&bcast_of(run)->dangling, run->plan, DANGLING_TITLE, err);
    if (status == 0 && origin_has_failed(bcast_of(run)))
        return EXIT_DATA;
    for (n = 0; n < run->plan->nodes && status == 0; n++)
        status = bcast_of(run)->copy[n].has_failed ? EXIT_CREATE
                 : bcast_of(run)->copy[n].is_done  ? 0
                                                   : EXIT_INTERNAL;
    return status;
}

static void print_copies(const struct run *run, FILE *out)
{
    struct groups groups = { 0 };
    size_t        n, i;

    for (n = 0; n < run->plan->nodes; n++) {
        char *words;

        if (!bcast_of(run)->copy[n].is_done || run->outcome.node[n] != NULL)
            continue;
        words = words_of(bcast_of(run), &bcast_of(run)->copy[n]);
        groups_add(&groups, words, (int)n);
        free(words);
    }
    for (i = 0; i < groups.count; i++) {
        char *names = group_hosts(&groups.group[i], run->plan);

        fprintf(out, "%s: %s\n", names, groups.group[i].key);
        free(names);
    }
    groups_clear(&groups);
}

/* Returns "3 of 12 files sent, 1.2 MiB; the others are there already"; caller frees. */
static char *words_of(const struct bcast *bcast, const struct copy *copy)
{
    char    *bytes = size_words(copy->bytes), *words;
    uint64_t files = 0;
    size_t   t;

    for (t = 0; t < bcast->trees.count; t++)
        files += bcast->trees.tree[t].files;
    if (copy->skipped == bcast->trees.count)
        words = xstrdup("skipped: this is the source");
    else if (copy->files == 0 && !copy->has_failed)
        words = xstrdup("nothing sent: everything is already there");
    else
        words = xasprintf(
            "%" PRIu64 " of %" PRIu64 " files sent, %s%s%s", copy->files, files, bytes,
            copy->has_failed      ? ""
            : copy->files < files ? "; the others are already there"
                                  : "",
            copy->skipped > 0 ? "; paths that are their own source were skipped" : "");
    free(bytes);
    return words;
}

json_t *bcast_json(const struct run *run, int status)
{
    const struct bcast *bcast = bcast_of(run);
    json_t             *nodes = json_array();
    size_t              i;

    for (i = 0; i < run->plan->nodes; i++) {
        const struct conn_failure *why = run->outcome.node[i];
        const struct copy         *copy = &bcast->copy[i];

        json_array_append_new(
            nodes, json_pack("{s:s, s:o, s:b, s:I, s:I, s:I, s:b}", "node", run->plan->node[i].host,
                             "error", why != NULL ? json_text(why->text, strlen(why->text))
                                                  : json_null(),
                             "complete", copy->is_done && !copy->has_failed && why == NULL,
                             "files_sent", (json_int_t)copy->files, "bytes_sent",
                             (json_int_t)copy->bytes, "bytes_from_nodes",
                             (json_int_t)copy->node_bytes, "skipped",
                             copy->skipped == bcast->trees.count));
    }
    return json_pack("{s:i, s:o, s:o, s:o}", "exit_status", status, "nodes", nodes, "failures",
                     failures_json(&bcast->failed, run->plan), "dangling",
                     failures_json(&bcast->dangling, run->plan));
}
