/* bcast.c - `muster bcast`: files of this machine to all nodes
 *
 * Each node gets one tree (bcast_tree.h) after the other: where it is, then its entries, a frame
 * full of them at a time. The agent makes directories and links, and answers which files it
 * wants the contents of. Those are sent before any further entries, so that the list of what it
 * wants is never long. All that is sent takes credit, which comes back when the agent has dealt
 * with it: as soon as all of it is back, nothing of the tree can fail any more.
 *
 * Nodes do not wait for each other. What one of them does not get is a row of the table at the
 * end, and the rest continues, unless its disk is full.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/bcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "bcast/bcast_job.h"
#include "log.h"
#include "run/node_job.h"
#include "xalloc.h"

/* What is on its way to all nodes together, and what to one. */
#define WINDOW_TOTAL (64u << 20)
#define WINDOW_LEAST (64u << 10)
#define WINDOW_MOST  (4u << 20)
#define PART_MAX     (128u << 10) /* of a file, or entries, in one frame */
#define STALL_S      60.0         /* for the agent to deal with anything at all */
#define ROOT_BLOB    1

static int  bcast_prepare(const struct run *run, void **data);
static void bcast_free(const struct run *run, void *data);
static void bcast_begin(struct run *run, struct node *node);
static bool bcast_take(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body);
static void pump(struct run *run, struct node *node);
static bool send_next(struct run *run, struct node *node, struct copy *copy);
static bool next_tree(struct run *run, struct node *node, struct copy *copy);
static bool is_source(const struct tree *tree, const struct node *node);
static bool send_data(struct run *run, struct node *node, struct copy *copy,
                      const struct tree_item *item);
static void break_off(struct run *run, struct node *node, struct copy *copy,
                      const char *why);
static bool send_file(struct run *run, struct node *node, struct copy *copy);
static bool send_entries(struct run *run, struct node *node, struct copy *copy);
static void send_some(struct node *node, struct copy *copy, enum frame_type type,
                      const unsigned char *body, size_t size);
static bool take_wanted(struct bcast *bcast, struct copy *copy,
                        const struct frame *frame);
static bool take_credit(struct bcast *bcast, struct copy *copy,
                        const struct frame *frame);
static bool take_failed(struct run *run, struct node *node, const json_t *body);
static void drop_file(struct copy *copy);

const struct node_job bcast_job = {
    .prepare = bcast_prepare,
    .begin = bcast_begin,
    .frame = bcast_take,
    .report = bcast_report,
    .json = bcast_json,
    .free = bcast_free,
};

static int bcast_prepare(const struct run *run, void **data)
{
    struct bcast  *bcast = *data = xcalloc(1, sizeof *bcast);
    struct strlist problems = { 0 };
    size_t         n;

    bcast->window = WINDOW_TOTAL / run->plan->nodes;
    bcast->window = bcast->window > WINDOW_MOST    ? WINDOW_MOST
                    : bcast->window < WINDOW_LEAST ? WINDOW_LEAST
                                                   : bcast->window;
    bcast->copy = xcalloc(run->plan->nodes, sizeof *bcast->copy);
    for (n = 0; n < run->plan->nodes; n++)
        bcast->copy[n] = (struct copy){ .fd = -1, .credit = bcast->window };
    if (trees_read(&bcast->trees, &run->options->args, run->options->to, &problems) == 0)
        return 0;
    for (n = 0; n < problems.count; n++)
        log_error("%s", problems.item[n]);
    strlist_clear(&problems);
    return EXIT_DATA;
}

static void bcast_free(const struct run *run, void *data)
{
    struct bcast *bcast = data;
    size_t        n;

    if (bcast == NULL)
        return;
    for (n = 0; n < run->plan->nodes; n++) {
        drop_file(&bcast->copy[n]);
        free(bcast->copy[n].wanted);
    }
    free(bcast->copy);
    groups_clear(&bcast->failed);
    trees_clear(&bcast->trees);
    free(bcast);
}

static void bcast_begin(struct run *run, struct node *node)
{
    node_enter(node, NODE_PROBING, STALL_S);
    pump(run, node);
}

/* After STOP only failures can come. */
static bool bcast_take(struct run *run, struct node *node, const struct frame *frame,
                       const json_t *body)
{
    struct copy *copy = &bcast_of(run)->copy[node->index];
    bool         is_ours = false;

    if (node->failure != NULL)
        return true;
    if (node->state != NODE_PROBING && node->state != NODE_PROBED)
        return false;
    if (frame->type == FRAME_FAILED)
        is_ours = take_failed(run, node, body);
    else if (frame->type == FRAME_WANTED)
        is_ours = take_wanted(bcast_of(run), copy, frame);
    else if (frame->type == FRAME_CREDIT)
        is_ours = take_credit(bcast_of(run), copy, frame);
    if (is_ours && node->state == NODE_PROBING && node->stop_ns == 0)
        pump(run, node);
    return is_ours;
}

/* --- sending ---------------------------------------------------------------- */

static void pump(struct run *run, struct node *node)
{
    struct copy *copy = &bcast_of(run)->copy[node->index];

    while (node_takes_frames(node) && send_next(run, node, copy))
        ;
    if (!copy->is_done)
        node_expect(node, "what became of the files that it got", STALL_S);
    else if (node->state == NODE_PROBING)
        node_enter(node, NODE_PROBED, 0);
}

/* Do one step, or send one frame; false: something must come first, or it is done. */
static bool send_next(struct run *run, struct node *node, struct copy *copy)
{
    const struct tree *tree = &bcast_of(run)->trees.tree[copy->tree];

    if (copy->is_done)
        return false;
    if (!copy->has_root)
        return next_tree(run, node, copy);
    if (copy->fd >= 0)
        return send_data(run, node, copy, &tree->item[copy->number]);
    if (copy->wanted_next < copy->wanted_count)
        return send_file(run, node, copy);
    if (copy->item < tree->items)
        return send_entries(run, node, copy);
    if (copy->unanswered > 0 || copy->credit < bcast_of(run)->window)
        return false;
    copy->tree++;
    copy->has_root = false;
    return true;
}

static bool next_tree(struct run *run, struct node *node, struct copy *copy)
{
    const struct trees *trees = &bcast_of(run)->trees;
    struct buffer       blob = { 0 };
    const char         *root;

    for (; copy->tree < trees->count && is_source(&trees->tree[copy->tree], node); copy->tree++)
        copy->skipped++;
    if (copy->tree == trees->count) {
        copy->is_done = true;
        return false;
    }
    root = trees->tree[copy->tree].root;
    put_u32((unsigned char *)buffer_reserve(&blob, 4), ROOT_BLOB);
    blob.size += 4;
    buffer_add_text(&blob, root);
    node_send_raw(node, FRAME_BLOB, blob.bytes, blob.size);
    buffer_clear(&blob);
    node_send(node, FRAME_TREE, json_pack("{s:i}", "root", ROOT_BLOB));
    copy->has_root = true;
    copy->item = 0;
    copy->highest = copy->number = -1;
    return true;
}

/* On this machine a tree may be its own source. */
static bool is_source(const struct tree *tree, const struct node *node)
{
    struct stat here, there;

    return node->plan->is_local && tree->here != NULL && stat(tree->here, &here) == 0 &&
           stat(tree->root, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

static bool send_data(struct run *run, struct node *node, struct copy *copy,
                      const struct tree_item *item)
{
    unsigned char *bytes;
    struct error   why;
    size_t         size = copy->left < PART_MAX ? (size_t)copy->left : PART_MAX;
    ssize_t        got;

    size = size < bcast_of(run)->window / 2 ? size : bcast_of(run)->window / 2;
    if (copy->credit < size)
        return false;
    bytes = xmalloc(size);
    got = read(copy->fd, bytes, size);
    if (got <= 0) {
        break_off(run, node, copy, got < 0 ? strerror(errno) : "has become shorter");
    } else if ((uint64_t)got == copy->left && tree_check(item, copy->fd, &why) < 0) {
        break_off(run, node, copy, why.text);
    } else {
        send_some(node, copy, FRAME_DATA, bytes, (size_t)got);
        copy->left -= (uint64_t)got;
        copy->bytes += (uint64_t)got;
    }
    free(bytes);
    if (copy->left == 0)
        drop_file(copy);
    return true;
}

/* A file that changes while it is sent is left out. */
static void break_off(struct run *run, struct node *node, struct copy *copy, const char *why)
{
    bcast_failed(run, node, (size_t)copy->number, "read", why);
    node_send_raw(node, FRAME_DATA, NULL, 0);
    copy->files--;
    drop_file(copy);
}

static bool send_file(struct run *run, struct node *node, struct copy *copy)
{
    struct trees           *trees = &bcast_of(run)->trees;
    uint32_t                number = copy->wanted[copy->wanted_next];
    const struct tree_item *item = &trees->tree[copy->tree].item[number];
    struct entry            entry = tree_entry(item);
    unsigned char           body[4 + ENTRY_BYTES_MAX];
    struct error            why;

    if (copy->credit < sizeof body)
        return false;
    copy->number = number;
    if (++copy->wanted_next == copy->wanted_count)
        copy->wanted_next = copy->wanted_count = 0;
    copy->fd = tree_open(trees, item, &why);
    if (copy->fd < 0) {
        bcast_failed(run, node, number, "read", why.text);
        return true;
    }
    put_u32(body, number);
    send_some(node, copy, FRAME_FILE, body, 4 + entry_put(body + 4, &entry));
    copy->files++;
    copy->left = item->size;
    if (copy->left == 0)
        drop_file(copy);
    return true;
}

static bool send_entries(struct run *run, struct node *node, struct copy *copy)
{
    const struct tree *tree = &bcast_of(run)->trees.tree[copy->tree];
    size_t             most = copy->credit < PART_MAX ? copy->credit : PART_MAX, size = 0;
    unsigned char     *body;

    if (most < ENTRY_BYTES_MAX)
        return false;
    body = xmalloc(most);
    while (copy->item < tree->items && size + ENTRY_BYTES_MAX <= most) {
        struct entry entry = tree_entry(&tree->item[copy->item++]);

        size += entry_put(body + size, &entry);
    }
    send_some(node, copy, FRAME_ENTRIES, body, size);
    copy->unanswered++;
    free(body);
    return true;
}

/* All that takes credit. */
static void send_some(struct node *node, struct copy *copy, enum frame_type type,
                      const unsigned char *body, size_t size)
{
    copy->credit -= size;
    node_send_raw(node, type, body, size);
}

/* --- answers ---------------------------------------------------------------- */

/* In order, and therefore no file twice. */
static bool take_wanted(struct bcast *bcast, struct copy *copy, const struct frame *frame)
{
    const struct tree *tree = &bcast->trees.tree[copy->tree];
    size_t             i, count = frame->size / 4;

    if (copy->unanswered == 0 || frame->size % 4 != 0)
        return false;
    copy->unanswered--;
    copy->wanted = xreallocarray(copy->wanted, copy->wanted_count + count + 1,
                                 sizeof *copy->wanted);
    for (i = 0; i < count; i++) {
        uint32_t number = get_u32(frame->body + 4 * i);

        if (number <= copy->highest || number >= copy->item ||
            tree->item[number].type != ENTRY_FILE)
            return false;
        copy->highest = number;
        copy->wanted[copy->wanted_count++] = number;
    }
    return true;
}

static bool take_credit(struct bcast *bcast, struct copy *copy, const struct frame *frame)
{
    if (frame->size != 4 || get_u32(frame->body) > bcast->window - copy->credit)
        return false;
    copy->credit += get_u32(frame->body);
    return true;
}

static bool take_failed(struct run *run, struct node *node, const json_t *body)
{
    struct copy *copy = &bcast_of(run)->copy[node->index];
    json_int_t   number;
    const char  *what, *text;

    if (json_unpack((json_t *)body, "{s:I, s:s, s:s}", "entry", &number, "what", &what, "text",
                    &text) < 0 || number < 0 || (size_t)number >= copy->item)
        return false;
    if (copy->is_done)
        return true; /* its disk is full, and that was told */
    bcast_failed(run, node, (size_t)number, what, text);
    if (number <= copy->number && bcast_of(run)->trees.tree[copy->tree].item[number].type ==
                                      ENTRY_FILE && copy->files > 0)
        copy->files--;
    if (number == copy->number && copy->fd >= 0) {
        node_send_raw(node, FRAME_DATA, NULL, 0);
        drop_file(copy);
    }
    if (json_is_true(json_object_get(body, "all")))
        copy->is_done = true;
    return true;
}

static void drop_file(struct copy *copy)
{
    if (copy->fd >= 0)
        close(copy->fd);
    copy->fd = -1;
    copy->left = 0;
}
