/* bcast.c - `muster bcast`: copies files of this machine, or of one node (origin.h), to all
 * nodes
 *
 * Each node gets one tree (bcast_tree.h) after the other: its root, then its entries, one frame
 * full at a time. The agent makes directories and links, and answers which files it wants. For
 * those we send the hashes of all chunks (chunk.h), one window at a time. The agent takes the
 * chunks that it already has from its own disk, and gets the rest from another node
 * (bcast_links.c) or from us (bcast_files.c). When every hash of every tree is settled, FINISH
 * lets the agent do what must wait for all files, and report links that lead to nothing.
 *
 * Nodes do not wait for each other, but a node that serves others stays until they have their
 * chunks. A file that a node does not get becomes a row of the table at the end, and the node
 * continues with its other files, unless its disk is full.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/bcast.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bcast/copy_rules.h"
#include "bcast/git_ignored.h"
#include "log.h"
#include "node/node_job.h"
#include "xalloc.h"

/* Bytes in flight to all nodes together, and to one node. */
#define WINDOW_TOTAL (64u << 20)
#define WINDOW_LEAST (64u << 10)
#define WINDOW_MOST  (4u << 20)
#define STALL_S      60.0 /* for the agent to handle anything at all, or --dead-after */
#define WAIT_S       86400.0 /* for the origin, which has its own deadline */
#define ROOT_BLOB    1

static int  bcast_prepare(const struct run *run, void **data);
static int  read_trees(const struct options *options, struct bcast *bcast);
static void say_target(const struct options *options);
static void warn_unmatched(const struct options *options, const struct trees *trees);
static void bcast_free(const struct run *run, void *data);
static void bcast_begin(struct run *run, struct node *node);
static void begin(struct run *run, struct node *node);
static void bcast_over(struct run *run, struct node *node);
static void end_without_origin(struct run *run, struct node *node);
static bool bcast_take(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body);
static bool take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body);
static double stall_s(const struct run *run);
static bool send_next(struct run *run, struct node *node, struct copy *copy);
static bool next_tree(struct run *run, struct node *node, struct copy *copy);
static bool is_source(const struct tree *tree, const struct node *node);
static bool take_credit(struct bcast *bcast, struct copy *copy,
                        const struct frame *frame);
static bool take_failed(struct run *run, struct node *node, const json_t *body);
static bool take_finish(struct run *run, struct node *node, const struct frame *frame);

const struct node_job bcast_job = {
    .prepare = bcast_prepare,
    .begin = bcast_begin,
    .frame = bcast_take,
    .over = bcast_over,
    .report = bcast_report,
    .json = bcast_json,
    .free = bcast_free,
};

static int bcast_prepare(const struct run *run, void **data)
{
    struct bcast *bcast = *data = xcalloc(1, sizeof *bcast);
    size_t        n;
    int           status;

    bcast->hashed = SUM_FILE_NONE;
    bcast->window = WINDOW_TOTAL / run->plan->nodes;
    bcast->window = bcast->window > WINDOW_MOST    ? WINDOW_MOST
                    : bcast->window < WINDOW_LEAST ? WINDOW_LEAST
                                                   : bcast->window;
    bcast->copy = xcalloc(run->plan->nodes, sizeof *bcast->copy);
    bcast->progress = xcalloc(run->plan->nodes, sizeof *bcast->progress);
    for (n = 0; n < run->plan->nodes; n++)
        bcast->copy[n] = (struct copy){ .credit = bcast->window, .needs.file = SUM_FILE_NONE,
                                        .source.node = CHAIN_LAUNCHER };
    status = copy_rules_check(run->options, run->plan);
    if (status == 0)
        status = origin_find(run, bcast);
    if (status == 0 && bcast->origin == NULL)
        status = read_trees(run->options, bcast);
    return status == 0 ? bcast_links_prepare(run, bcast) : status;
}

/* Finds what we send of this machine. */
static int read_trees(const struct options *options, struct bcast *bcast)
{
    const struct tree_rules rules = copy_rules_of(options, TREE_LINKS_COPY);
    struct strlist          problems = { 0 };
    struct error            err;
    size_t                  i;

    trees_begin(&bcast->trees, &options->args, options->to, &rules, &problems);
    bcast->trees.rules.ignored = &bcast->ignored;
    if (options->gitignore && git_ignored_find(&bcast->trees.source, &bcast->ignored, &err) < 0)
        strlist_add(&problems, err.text);
    else if (trees_read(&bcast->trees, &problems) == 0)
        warn_unmatched(options, &bcast->trees);
    for (i = 0; i < problems.count; i++)
        log_error("%s", problems.item[i]);
    if (problems.count > 0)
        say_target(options);
    i = problems.count;
    strlist_clear(&problems);
    return i == 0 ? 0 : EXIT_DATA;
}

/* scp and rsync have the target as the last path. */
static void say_target(const struct options *options)
{
    const struct strlist *args = &options->args;
    const char           *last = args->count > 1 ? args->item[args->count - 1] : NULL;

    if (last != NULL && options->to == NULL && access(last, F_OK) < 0)
        log_error("all paths are sent; if %s is where they go, write --to=%s", last, last);
}

static void warn_unmatched(const struct options *options, const struct trees *trees)
{
    size_t i;

    for (i = 0; i < options->exclude_paths.count; i++)
        if (!trees->has_matched[i])
            log_warn("%s %s: no path matches",
                     options->push.count > 0 ? "--push-exclude" : "--exclude",
                     options->exclude_paths.item[i]);
}

static void bcast_free(const struct run *run, void *data)
{
    struct bcast *bcast = data;
    size_t        n;

    if (bcast == NULL)
        return;
    for (n = 0; n < run->plan->nodes; n++)
        bcast_files_clear(&bcast->copy[n]);
    free(bcast->copy);
    free(bcast->progress);
    sum_file_close(&bcast->hashed);
    bcast_links_clear(bcast);
    failures_clear(&bcast->failed);
    failures_clear(&bcast->dangling);
    trees_clear(&bcast->trees);
    strlist_clear(&bcast->ignored);
    origin_free(bcast->origin);
    free(bcast);
}

static void bcast_begin(struct run *run, struct node *node)
{
    struct bcast *bcast = bcast_of(run);

    node_enter(node, NODE_PROBING, stall_s(run));
    if (origin_is(bcast, node))
        origin_begin(run, node);
    else if (bcast->origin_is_lost)
        end_without_origin(run, node);
    else if (origin_is_listed(bcast))
        begin(run, node);
    else
        node_expect(node, "the node that has the files", WAIT_S);
}

static void begin(struct run *run, struct node *node)
{
    if (origin_has_failed(bcast_of(run))) {
        bcast_of(run)->copy[node->index].is_done = true;
        node_enter(node, NODE_PROBED, 0);
        return;
    }
    bcast_pump(run, node);
    bcast_links_join(run, node);
    bcast_pump(run, node);
}

/* Once the entries of the origin are known, it joins the chain first, so that the others get
 * their chunks from it. */
void bcast_begin_all(struct run *run, struct node *origin)
{
    struct bcast *bcast = bcast_of(run);
    size_t        n;

    if (bcast_links_choose(run, bcast) != 0)
        bcast->has_chain = false;
    bcast->copy[origin->index].is_done = true;
    bcast->copy[origin->index].skipped = bcast->trees.count;
    bcast_links_join(run, origin);
    node_expect(origin, "the other nodes", WAIT_S);
    for (n = 0; n < run->plan->nodes; n++)
        if (run->node[n] != origin && run->node[n]->state == NODE_PROBING)
            begin(run, run->node[n]);
    if (origin_has_failed(bcast))
        node_enter(origin, NODE_PROBED, 0);
}

void bcast_pump_all(struct run *run)
{
    struct bcast *bcast = bcast_of(run);
    size_t        n;

    for (n = 0; n < run->plan->nodes; n++)
        if (!origin_is(bcast, run->node[n]) && run->node[n]->state == NODE_PROBING &&
            run->node[n]->stop_ns == 0)
            bcast_pump(run, run->node[n]);
}

static void bcast_over(struct run *run, struct node *node)
{
    struct bcast *bcast = bcast_of(run);
    size_t        n;

    if (!origin_is(bcast, node) || run->phase.now == PHASE_STOPPING)
        return;
    bcast->origin_is_lost = true;
    for (n = 0; n < run->plan->nodes; n++)
        if (run->node[n]->state == NODE_PROBING && !bcast->copy[n].is_done)
            end_without_origin(run, run->node[n]);
}

static void end_without_origin(struct run *run, struct node *node)
{
    struct copy *copy = &bcast_of(run)->copy[node->index];

    copy->has_failed = true;
    failures_add(&bcast_of(run)->failed, node, &copy->failures, "", "",
                 "the node that has the files is lost");
    node_enter(node, NODE_PROBED, 0);
}

/* After STOP, only FAILED can come. */
static bool bcast_take(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    bool is_ours;

    if (node->failure != NULL)
        return true;
    if (node->state != NODE_PROBING && node->state != NODE_PROBED)
        return false;
    is_ours = take(run, node, frame, body);
    if (is_ours && node->state == NODE_PROBING && node->stop_ns == 0) {
        if (origin_is(bcast_of(run), node))
            node_expect(node, "the requested files",
                        origin_is_listed(bcast_of(run)) ? WAIT_S : stall_s(run));
        else
            bcast_pump(run, node);
    }
    return is_ours;
}

static bool take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body)
{
    struct bcast *bcast = bcast_of(run);
    struct copy  *copy = &bcast->copy[node->index];
    bool          is_ours = false;

    if (origin_is(bcast, node) && frame->type != FRAME_LISTEN)
        return origin_take(run, node, frame, body);
    if (frame->type == FRAME_FAILED)
        is_ours = take_failed(run, node, body);
    else if (frame->type == FRAME_WANTED)
        is_ours = bcast_take_wanted(bcast, copy, frame);
    else if (frame->type == FRAME_CREDIT)
        is_ours = take_credit(bcast, copy, frame);
    else if (frame->type == FRAME_NEED)
        is_ours = bcast_take_need(bcast, copy, frame);
    else if (frame->type == FRAME_HAVE)
        is_ours = bcast_take_have(copy, frame);
    else if (frame->type == FRAME_FINISH)
        is_ours = take_finish(run, node, frame);
    else if (frame->type == FRAME_LISTEN)
        is_ours = bcast_take_listen(run, node, body);
    else if (frame->type == FRAME_LINKED)
        is_ours = bcast_take_linked(run, node, body);
    if (is_ours)
        bcast_links_progress(run, node, frame->type == FRAME_HAVE || frame->type == FRAME_CREDIT);
    return is_ours;
}

/* --- sending ---------------------------------------------------------------- */

void bcast_pump(struct run *run, struct node *node)
{
    struct copy *copy = &bcast_of(run)->copy[node->index];

    while (node_takes_frames(node) && send_next(run, node, copy))
        ;
    if (!copy->is_done)
        node_expect(node, "the result for the files that it received", stall_s(run));
    else if (node->state == NODE_PROBING)
        bcast_links_done(run, node);
}

/* A silent node is lost after --dead-after, not sooner. */
static double stall_s(const struct run *run)
{
    return run->options->dead_after_s > STALL_S ? run->options->dead_after_s : STALL_S;
}

/* Does one step, or sends one frame; false: an answer must come first, or the copy is done. */
static bool send_next(struct run *run, struct node *node, struct copy *copy)
{
    const struct tree *tree = &bcast_of(run)->trees.tree[copy->tree];

    if (copy->is_done || copy->is_finishing)
        return false;
    if (!copy->has_root)
        return next_tree(run, node, copy);
    if (bcast_send_needed(run, node, copy) || bcast_send_rows(run, node, copy))
        return true;
    if (copy->wanted_next < copy->wanted_count)
        return false;
    if (copy->item < tree->items)
        return bcast_send_entries(run, node, copy);
    if (copy->unanswered > 0 || copy->credit < bcast_of(run)->window ||
        copy->rows.settled < copy->rows.sent)
        return false;
    copy->tree++;
    copy->has_root = false;
    return true;
}

static bool next_tree(struct run *run, struct node *node, struct copy *copy)
{
    const struct trees *trees = &bcast_of(run)->trees;
    const char         *root;

    for (; copy->tree < trees->count && is_source(&trees->tree[copy->tree], node); copy->tree++)
        copy->skipped++;
    if (copy->tree == trees->count) {
        copy->is_finishing = true;
        copy->is_done = copy->skipped == trees->count;
        if (!copy->is_done)
            node_send_empty(node, FRAME_FINISH);
        return false;
    }
    root = trees->tree[copy->tree].root;
    node_send_blob(node, ROOT_BLOB, root, strlen(root));
    node_send(node, FRAME_TREE, json_pack("{s:i, s:I, s:b}", "root", ROOT_BLOB, "tree",
                                          (json_int_t)copy->tree, "beside_agent",
                                          run->options->beside_agent));
    copy->has_root = true;
    copy->item = 0;
    copy->highest = -1;
    return true;
}

/* A node on this machine may be the source of a tree. */
static bool is_source(const struct tree *tree, const struct node *node)
{
    struct stat here, there;

    return node->plan->is_local && tree->here != NULL && stat(tree->here, &here) == 0 &&
           stat(tree->root, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* --- answers ---------------------------------------------------------------- */

static bool take_credit(struct bcast *bcast, struct copy *copy, const struct frame *frame)
{
    if (frame->size != 4 || get_u32(frame->body) > bcast->window - copy->credit)
        return false;
    copy->credit += get_u32(frame->body);
    return true;
}

static bool take_failed(struct run *run, struct node *node, const json_t *body)
{
    struct bcast *bcast = bcast_of(run);
    struct copy  *copy = &bcast->copy[node->index];
    json_int_t    tree, number;
    const char   *what, *text;

    if (json_unpack((json_t *)body, "{s:I, s:I, s:s, s:s}", "tree", &tree, "entry", &number,
                    "what", &what, "text", &text) < 0 || tree < 0 || number < 0 ||
        (size_t)tree >= bcast->trees.count ||
        (size_t)number >= bcast->trees.tree[tree].items)
        return false;
    if (copy->is_done)
        return true; /* its disk is full, which it has reported */
    bcast_failed(run, node, (size_t)tree, (size_t)number, what, text);
    if (json_is_true(json_object_get(body, "all")))
        copy->is_done = true;
    return true;
}

/* A link that leads to nothing here, too, is as it should be. */
static bool take_finish(struct run *run, struct node *node, const struct frame *frame)
{
    struct bcast *bcast = bcast_of(run);
    struct copy  *copy = &bcast->copy[node->index];
    size_t        at;

    if (!copy->is_finishing || frame->size % 8 != 0)
        return false;
    if (copy->is_done)
        return true; /* its disk is full */
    for (at = 0; at < frame->size; at += 8) {
        size_t tree = get_u32(frame->body + at), number = get_u32(frame->body + at + 4);

        if (tree >= bcast->trees.count || number >= bcast->trees.tree[tree].items ||
            bcast->trees.tree[tree].item[number].type != ENTRY_LINK)
            return false;
        if (bcast->origin != NULL ||
            tree_link_leads(&bcast->trees, &bcast->trees.tree[tree].item[number]))
            bcast_dangling(run, node, tree, number);
    }
    copy->is_done = true;
    return true;
}
