/* collect.c - `muster collect`: copies files of all nodes to this machine, into one folder per
 * node
 *
 * muster asks each node for the entries of its paths, for the chunk hashes of the files that
 * are missing here, and for the chunks that no file here has. bcast_receive.h writes them and
 * trusts none of the data: a node can write only into its own folder. muster asks a node for at
 * most one window at a time, so that its agent queues nothing.
 *
 * Nodes do not wait for each other. A file that does not come becomes a row of the table at the
 * end, and the others continue, unless the disk is full.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bcast/copy_rules.h"
#include "clock.h"
#include "copy/bcast_tree.h"
#include "log.h"
#include "node/body.h"
#include "xalloc.h"
#include "xevent.h"

/* Bytes in flight from all nodes together, and from one node. */
#define WINDOW_TOTAL (64u << 20)
#define WINDOW_LEAST (1u << 20)
#define WINDOW_MOST  (8u << 20)
#define SMALL_FILES  512  /* open for all nodes: each takes two descriptors */
#define FILES_MAX    2048 /* descriptors for small and larger files, and some per node */
#define FILES_NODE   16
#define LISTS_MAX    2u
#define STALL_S      60.0 /* for an agent to send any answer, or --dead-after */
#define TICK_S       0.25

static int    collect_prepare(const struct run *run, void **data);
static void   collect_free(const struct run *run, void *data);
static void   raise_descriptors(size_t nodes);
static int    read_paths(const struct run *run, struct collect *collect);
static bool   is_within(const char *path, const char *dir);
static void   collect_begin(struct run *run, struct node *node);
static void   begin_ticks(struct run *run, struct collect *collect);
static void   tick_cb(evutil_socket_t fd, short what, void *arg);
static void   failed_cb(uint32_t tree, uint32_t number, const char *path, const char *what,
                        const char *why, bool is_all, void *arg);
static bool   collect_take(struct run *run, struct node *node, const struct frame *frame,
                           const json_t *body);
static int    take(struct gather *gather, const struct frame *frame, const json_t *body,
                   struct error *err);
static int    take_entries(struct gather *gather, const struct frame *frame, struct error *err);
static int    take_sums(struct gather *gather, const struct frame *frame, struct error *err);
static int    take_data(struct gather *gather, const struct frame *frame, struct error *err);
static int    take_failed(struct gather *gather, const json_t *body, struct error *err);
static void   pump(struct gather *gather);
static void   ask_hashes(struct gather *gather);
static bool   next_chunk(struct gather *gather, uint64_t left, struct chunk *chunk);
static uint64_t open_bytes(const struct gather *gather);
static void   ask_chunks(struct gather *gather);
static void   finish_cb(evutil_socket_t fd, short what, void *arg);
static void   done(struct gather *gather);
static bool   is_over(const struct gather *gather);
static void   end(struct gather *gather);
static double stall_s(const struct run *run);

const struct node_job collect_job = {
    .prepare = collect_prepare,
    .begin = collect_begin,
    .frame = collect_take,
    .report = collect_report,
    .json = collect_json,
    .free = collect_free,
};

static int collect_prepare(const struct run *run, void **data)
{
    struct collect *collect = *data = xcalloc(1, sizeof *collect);
    size_t          n, nodes = run->plan->nodes;

    if (copy_rules_check(run->options, run->plan) != 0)
        return EXIT_USAGE;
    collect->window = WINDOW_TOTAL / nodes;
    collect->window = collect->window > WINDOW_MOST    ? WINDOW_MOST
                      : collect->window < WINDOW_LEAST ? WINDOW_LEAST
                                                       : collect->window;
    collect->small_files = SMALL_FILES / nodes + 1;
    if (collect->small_files > BCAST_SMALL_MAX)
        collect->small_files = BCAST_SMALL_MAX;
    raise_descriptors(nodes);
    collect->gather = xcalloc(nodes, sizeof *collect->gather);
    collect->progress = xcalloc(nodes, sizeof *collect->progress);
    for (n = 0; n < nodes; n++) {
        const char *host = run->plan->node[n].host;

        if (strchr(host, '/') == NULL && strcmp(host, ".") != 0 && strcmp(host, "..") != 0)
            continue;
        log_error("%s cannot be used as a folder name", host);
        return EXIT_DATA;
    }
    return read_paths(run, collect);
}

/* Ignores errors: with too few descriptors, single files fail, which is reported then. */
static void raise_descriptors(size_t nodes)
{
    const rlim_t  wish = FILES_MAX + nodes * FILES_NODE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wish)
        return;
    limit.rlim_cur = limit.rlim_max < wish ? limit.rlim_max : wish;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Makes paths absolute, since only a node knows what ".." means there. Rejects a target within
 * a path: reading a folder while writing into it would never end. */
static int read_paths(const struct run *run, struct collect *collect)
{
    const struct strlist *paths = &run->options->args;
    char                 *path;
    size_t                i;
    int                   status = 0;

    collect->to = tree_absolute(run->options->to != NULL ? run->options->to : ".");
    for (i = 0; i < paths->count && collect->to != NULL && status == 0; i++) {
        path = tree_absolute(paths->item[i]);
        if (path == NULL || is_within(collect->to, path)) {
            log_error("%s: %s", paths->item[i],
                      path == NULL ? strerror(errno)
                                   : "the files would be copied into themselves: choose "
                                     "another folder with --to");
            status = EXIT_DATA;
        } else {
            buffer_add(&collect->paths, path, strlen(path) + 1);
        }
        free(path);
    }
    return collect->to != NULL ? status : EXIT_DATA;
}

static bool is_within(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    return strncmp(path, dir, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static void collect_free(const struct run *run, void *data)
{
    struct collect *collect = data;
    size_t          n;

    if (collect == NULL)
        return;
    for (n = 0; n < run->plan->nodes; n++)
        end(&collect->gather[n]);
    failures_clear(&collect->failed);
    buffer_clear(&collect->paths);
    if (collect->tick != NULL)
        event_free(collect->tick);
    free(collect->gather);
    free(collect->progress);
    free(collect->to);
    free(collect);
}

static void collect_begin(struct run *run, struct node *node)
{
    static const struct bcast_receive_ops ops = { .failed = failed_cb };
    struct collect *collect = run->job_data;
    struct gather  *gather = &collect->gather[node->index];
    struct error    why;
    char           *root = xasprintf("%s/%s", collect->to, node->plan->host);
    const struct tree_rules rules = copy_rules_of(run->options, TREE_LINKS_WITHIN);
    const enum bcast_links  links = rules.links == TREE_LINKS_COPY ? BCAST_LINKS_ANY
                                                                   : BCAST_LINKS_WITHIN;

    if (collect->tick == NULL)
        begin_ticks(run, collect);
    gather->run = run;
    gather->node = node;
    gather->receiver = bcast_receive_new(&ops, gather, links, collect->small_files);
    node_enter(node, NODE_PROBING, stall_s(run));
    if (bcast_receive_root(gather->receiver, 0, root, &why) < 0) {
        failed_cb(0, 0, "", "", why.text, true, gather);
    } else {
        copy_rules_give(node, &collect->paths, &rules);
    }
    free(root);
    pump(gather);
}

static void begin_ticks(struct run *run, struct collect *collect)
{
    const struct timeval every = clock_interval(TICK_S);

    collect->tick = event_new(run->base, -1, EV_PERSIST, tick_cb, run);
    if (collect->tick == NULL)
        xalloc_die();
    collect->tick_ns = clock_now_ns();
    xevent_add(collect->tick, &every);
}

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run     *run = arg;
    struct collect *collect = run->job_data;
    int64_t         now_ns = clock_now_ns();
    size_t          n;

    (void)fd, (void)what;
    for (n = 0; n < run->plan->nodes; n++) {
        collect->progress[n].bytes = collect->gather[n].counts.bytes;
        collect->progress[n].is_done = collect->gather[n].is_done;
    }
    bcast_progress_show(run, collect->progress, (double)(now_ns - collect->tick_ns) / NS_PER_S);
    collect->tick_ns = now_ns;
}

/* A file cannot be written here. */
static void failed_cb(uint32_t tree, uint32_t number, const char *path, const char *what,
                      const char *why, bool is_all, void *arg)
{
    struct gather  *gather = arg;
    struct collect *collect = gather->run->job_data;
    char           *full = xasprintf("%s/%s/%s", collect->to, gather->node->plan->host, path);

    (void)tree, (void)number;
    gather->has_failed = true;
    gather->is_full |= is_all;
    failures_add(&collect->failed, gather->node, &gather->failures, path[0] != '\0' ? full : "",
                 what, why);
    free(full);
}

/* --- received frames ------------------------------------------------------------- */

/* Ignores what comes from a node that has failed or is done. */
static bool collect_take(struct run *run, struct node *node, const struct frame *frame,
                         const json_t *body)
{
    struct collect *collect = run->job_data;
    struct gather  *gather = &collect->gather[node->index];
    struct error    why;

    if (node->failure != NULL || gather->is_done)
        return true;
    if (node->state != NODE_PROBING || gather->receiver == NULL)
        return false;
    if (take(gather, frame, body, &why) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame: %s", frame_name(frame->type),
                  why.text);
        return true;
    }
    pump(gather);
    return true;
}

static int take(struct gather *gather, const struct frame *frame, const json_t *body,
                struct error *err)
{
    switch (frame->type) {
    case FRAME_ENTRIES:
        return take_entries(gather, frame, err);
    case FRAME_SUMS:
        return take_sums(gather, frame, err);
    case FRAME_FILE:
        return arriving_begin(&gather->arriving, gather->receiver, frame->body, frame->size, err);
    case FRAME_DATA:
        return take_data(gather, frame, err);
    case FRAME_FAILED:
        return take_failed(gather, body, err);
    default:
        return err_set(err, "unexpected");
    }
}

static int take_entries(struct gather *gather, const struct frame *frame, struct error *err)
{
    if (gather->lists == 0)
        return err_set(err, "not requested");
    gather->lists--;
    gather->is_listed |= frame->size == 0;
    return bcast_receive_entries(gather->receiver, frame->body, frame->size, &gather->wanted, err);
}

/* Takes the answer to HASH, in the same order. */
static int take_sums(struct gather *gather, const struct frame *frame, struct error *err)
{
    size_t rows = frame->size / CHUNK_ROW_BYTES;

    if (rows > gather->asked - gather->hashed)
        return err_set(err, "more hashes than requested");
    for (; rows > 0; rows--) {
        gather->pending -= gather->hash_size[gather->hashed++ % HASHES_MAX];
        gather->has_failed |= chunk_get(frame->body + (rows - 1) * CHUNK_ROW_BYTES).index ==
                              CHUNK_WITHDRAWN;
    }
    return bcast_receive_sums(gather->receiver, frame->body, frame->size, err);
}

/* Empty DATA: the node could not read the whole file, and sends the reason. */
static int take_data(struct gather *gather, const struct frame *frame, struct error *err)
{
    unsigned char row[CHUNK_ROW_BYTES] = { 0 };
    struct chunk  chunk = gather->arriving.chunk;

    if (arriving_take(&gather->arriving, gather->receiver, frame->body, frame->size, err) < 0)
        return -1;
    if (frame->size > 0)
        return 0;
    gather->has_failed = true;
    chunk.index = CHUNK_WITHDRAWN;
    chunk_put(row, chunk);
    return bcast_receive_sums(gather->receiver, row, sizeof row, err);
}

static int take_failed(struct gather *gather, const json_t *body, struct error *err)
{
    struct collect *collect = gather->run->job_data;
    const char     *text = body_text(body, "text");

    if (text[0] == '\0')
        return err_set(err, "no \"text\"");
    gather->has_failed = true;
    failures_add(&collect->failed, gather->node, &gather->failures, "", "", text);
    return 0;
}

/* --- requests ------------------------------------------------------ */

static void pump(struct gather *gather)
{
    struct node *node = gather->node;

    if (!gather->is_full && node_takes_frames(node)) {
        for (; !gather->is_listed && gather->lists < LISTS_MAX; gather->lists++)
            node_send_empty(node, FRAME_LIST);
        ask_hashes(gather);
        ask_chunks(gather);
    }
    bcast_receive_settle(gather->receiver);
    gather->counts = *bcast_receive_counts(gather->receiver);
    if (gather->is_full)
        done(gather);
    else if (!is_over(gather))
        node_expect(node, "the requested files", stall_s(gather->run));
    else if (gather->finish == NULL) {
        gather->finish = xevent_new(gather->run->base, -1, finish_cb, gather);
        finish_cb(-1, 0, gather);
    }
}

/* Does one part, so that the other nodes need not wait. */
static void finish_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval at_once = { 0 };
    struct gather       *gather = arg;

    (void)fd, (void)what;
    if (gather->node->state != NODE_PROBING || gather->node->failure != NULL)
        return;
    if (bcast_receive_finish(gather->receiver) || gather->is_full) {
        done(gather);
        return;
    }
    node_expect(gather->node, "the last files to be written here", stall_s(gather->run));
    xevent_add(gather->finish, &at_once);
}

static void done(struct gather *gather)
{
    end(gather);
    gather->is_done = true;
    node_enter(gather->node, NODE_PROBED, 0);
}

static void ask_hashes(struct gather *gather)
{
    const struct collect *collect = gather->run->job_data;
    uint64_t              open = open_bytes(gather);
    unsigned char         ids[HASHES_MAX * CHUNK_ID_BYTES];
    struct chunk          chunk;
    size_t                size = 0;

    while (gather->asked - gather->hashed < HASHES_MAX &&
           open + gather->pending < collect->window &&
           next_chunk(gather, collect->window - open - gather->pending, &chunk)) {
        uint32_t bytes = (uint32_t)bcast_receive_chunk_size(gather->receiver, chunk);

        gather->hash_size[gather->asked++ % HASHES_MAX] = bytes;
        gather->pending += bytes;
        chunk_put(ids + size, chunk);
        size += CHUNK_ID_BYTES;
    }
    if (size > 0)
        node_send_raw(gather->node, FRAME_HASH, ids, size);
}

/* Finds the next chunk of a wanted file, with at most left bytes. */
static bool next_chunk(struct gather *gather, uint64_t left, struct chunk *chunk)
{
    size_t size;

    for (; gather->next < gather->wanted.size; gather->next += 4, gather->index = 0) {
        *chunk = (struct chunk){ 0, get_u32((unsigned char *)gather->wanted.bytes + gather->next),
                                 gather->index };
        size = bcast_receive_chunk_size(gather->receiver, *chunk);
        if (size > left)
            return false;
        gather->index++;
        if (size > 0)
            return true;
    }
    return false;
}

/* Returns the bytes of the chunks that have not come yet. */
static uint64_t open_bytes(const struct gather *gather)
{
    const struct chunk_rows *rows = bcast_receive_rows(gather->receiver);
    uint64_t                 bytes = 0;
    size_t                   i;

    for (i = 0; i < rows->count; i++)
        bytes += bcast_receive_chunk_size(gather->receiver, rows->row[i].chunk);
    return bytes;
}

static void ask_chunks(struct gather *gather)
{
    unsigned char body[HASHES_MAX * CHUNK_ID_BYTES];
    struct chunk  ids[HASHES_MAX];
    size_t        count, i;

    while ((count = chunk_rows_ask(bcast_receive_rows(gather->receiver), ASKED_LAUNCHER, ids,
                                   HASHES_MAX)) > 0) {
        for (i = 0; i < count; i++)
            chunk_put(body + i * CHUNK_ID_BYTES, ids[i]);
        node_send_raw(gather->node, FRAME_NEED, body, count * CHUNK_ID_BYTES);
    }
}

static bool is_over(const struct gather *gather)
{
    return gather->is_listed && gather->lists == 0 && gather->next == gather->wanted.size &&
           gather->hashed == gather->asked && bcast_receive_rows(gather->receiver)->count == 0;
}

/* A silent node is lost after --dead-after, not sooner. */
static double stall_s(const struct run *run)
{
    return run->options->dead_after_s > STALL_S ? run->options->dead_after_s : STALL_S;
}

/* The parts of incomplete files stay here for the next `muster collect`. */
static void end(struct gather *gather)
{
    bcast_receive_free(gather->receiver);
    gather->receiver = NULL;
    if (gather->finish != NULL)
        event_free(gather->finish);
    gather->finish = NULL;
    arriving_clear(&gather->arriving);
    buffer_clear(&gather->wanted);
}
