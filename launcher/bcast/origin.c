/* origin.c - see origin.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/origin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bcast/bcast.h"
#include "bcast/copy_rules.h"
#include "buffer.h"
#include "log.h"
#include "node/body.h"
#include "xalloc.h"

#define LISTS_MAX   2u
/* Hashes requested in one frame, and requested without an answer. A node whose disk loads data
 * lazily may take seconds for a few MiB, and must not be taken for dead. */
#define AHEAD       64u
#define HASHES_MAX  256u
#define HASH_BYTES  (8u << 20)
#define CACHE_MAX   64   /* chunks */

enum held_state { HELD_NONE, HELD_ASKED, HELD_HERE };

struct held {
    enum held_state state;
    struct chunk    chunk;
    unsigned char  *bytes; /* CHUNK_BYTES; NULL: never used */
    size_t          came;
    uint64_t        used; /* when last used, as a value of origin.count */
};

struct origin {
    size_t        node;
    struct buffer paths; /* absolute, each terminated by NUL */
    unsigned      lists; /* LIST frames without an answer */
    bool          is_at_end; /* no entries are left */
    bool          is_listed; /* is_at_end, and all LIST frames are answered */
    bool          has_failed;
    uint32_t     *asked; /* by file: number of chunk hashes requested */
    struct chunk  hash[HASHES_MAX]; /* a ring of requests without an answer */
    uint64_t      hashes, answered;
    uint64_t      hash_bytes; /* bytes of the chunks whose hashes are pending */
    struct held   held[CACHE_MAX];
    struct held  *arriving; /* NULL: none */
    uint64_t      count;
};

static const char *path_at(const struct run *run, const char *word, size_t *node);
static bool        is_elsewhere(const char *word);
static int         add_path(struct bcast *bcast, const char *path, const char *to);
static bool        take_entries(struct run *run, const struct frame *frame);
static bool        is_file(const struct tree *tree, uint64_t item);
static void        ask_list(struct run *run);
static bool        take_sums(struct run *run, const struct frame *frame);
static bool        take_file(struct origin *origin, const struct frame *frame);
static bool        take_data(struct run *run, const struct frame *frame);
static bool        take_failed(struct run *run, const json_t *body);
static void        give_up(struct tree_item *item, const char *why);
static void        ask_hashes(struct run *run, uint32_t file);
static bool        may_ask(const struct origin *origin);
static struct held *find_held(struct origin *origin, struct chunk chunk);
static struct held *oldest_held(struct origin *origin);
static struct node *node_of(struct run *run);
static struct tree *tree_of(struct run *run);

/* --- the user's arguments ---------------------------------------------------- */

int origin_find(const struct run *run, struct bcast *bcast)
{
    const struct strlist *args = &run->options->args;
    const char           *path;
    size_t                i, node = 0, first = 0, found = 0;

    for (i = 0; i < args->count; i++) {
        path = path_at(run, args->item[i], &node);
        if (path == NULL && is_elsewhere(args->item[i])) {
            log_error("%s: there is no such file here, and no such node; "
                      "where files go is --to=DIR", args->item[i]);
            return EXIT_DATA;
        }
        if (path == NULL)
            continue;
        if (found++ == 0)
            bcast->origin = xcalloc(1, sizeof *bcast->origin);
        first = found == 1 ? node : first;
        bcast->origin->node = first;
        if (node != first || add_path(bcast, path, run->options->to) < 0)
            found = args->count + 1;
    }
    if (found > 0 && run->options->gitignore) {
        log_error("--gitignore: works only for files of this machine; --exclude leaves out others");
        return EXIT_USAGE;
    }
    if (found == 0 || found == args->count)
        return 0;
    log_error("the paths must be in one directory of one node or of this machine; with --to "
              "they may be in any directory; where they go is --to=DIR");
    return EXIT_DATA;
}

/* Returns the path in "te1:/data" of node te1. NULL: it is a path on this machine, such as
 * ./te1:x (as with scp). */
static const char *path_at(const struct run *run, const char *word, size_t *node)
{
    size_t n, size;

    for (n = 0; n < run->plan->nodes; n++) {
        size = strlen(run->plan->node[n].host);
        if (strncmp(word, run->plan->node[n].host, size) != 0 || word[size] != ':' ||
            word[size + 1] == '\0')
            continue;
        *node = n;
        return word + size + 1;
    }
    return NULL;
}

static bool is_elsewhere(const char *word)
{
    const char *colon = strchr(word, ':');

    return colon != NULL && colon[1] == '/' && memchr(word, '/', (size_t)(colon - word)) == NULL &&
           access(word, F_OK) < 0;
}

/* -1: the path is not in the same directory as those before it. */
static int add_path(struct bcast *bcast, const char *path, const char *to)
{
    struct trees *trees = &bcast->trees;
    char         *full = tree_absolute(path), *slash = full != NULL ? strrchr(full, '/') : NULL;
    char         *root;
    int           rc = -1;

    if (slash != NULL && slash[1] != '\0') {
        buffer_add(&bcast->origin->paths, full, strlen(full) + 1);
        *slash = '\0';
        root = to != NULL ? tree_absolute(to) : xstrdup(full);
        if (trees->count == 0 && root != NULL) {
            trees->tree = xcalloc(1, sizeof *trees->tree);
            trees->tree[trees->count++].root = xstrdup(root[0] != '\0' ? root : "/");
        }
        rc = root != NULL && strcmp(root[0] != '\0' ? root : "/", trees->tree->root) == 0 ? 0 : -1;
        free(root);
    }
    free(full);
    return rc;
}

void origin_free(struct origin *origin)
{
    size_t i;

    if (origin == NULL)
        return;
    for (i = 0; i < CACHE_MAX; i++)
        free(origin->held[i].bytes);
    buffer_clear(&origin->paths);
    free(origin->asked);
    free(origin);
}

bool origin_is(const struct bcast *bcast, const struct node *node)
{
    return bcast->origin != NULL && bcast->origin->node == node->index;
}

bool origin_is_listed(const struct bcast *bcast)
{
    return bcast->origin == NULL || bcast->origin->is_listed;
}

bool origin_has_failed(const struct bcast *bcast)
{
    return bcast->origin != NULL && bcast->origin->has_failed;
}

/* --- entries ---------------------------------------------------------------- */

void origin_begin(struct run *run, struct node *node)
{
    struct origin *origin = bcast_of(run)->origin;
    struct tree_rules rules = copy_rules_of(run->options, TREE_LINKS_COPY);

    copy_rules_give(node, &origin->paths, &rules);
    ask_list(run);
}

static void ask_list(struct run *run)
{
    struct origin *origin = bcast_of(run)->origin;

    for (; !origin->is_at_end && origin->lists < LISTS_MAX; origin->lists++)
        node_send_empty(node_of(run), FRAME_LIST);
}

bool origin_take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body)
{
    (void)node;
    switch (frame->type) {
    case FRAME_ENTRIES:
        return take_entries(run, frame);
    case FRAME_SUMS:
        return take_sums(run, frame);
    case FRAME_FILE:
        return take_file(bcast_of(run)->origin, frame);
    case FRAME_DATA:
        return take_data(run, frame);
    case FRAME_FAILED:
        return take_failed(run, body);
    default:
        return false;
    }
}

/* The receiving nodes check the order of the entries. */
static bool take_entries(struct run *run, const struct frame *frame)
{
    struct origin      *origin = bcast_of(run)->origin;
    struct entry_reader reader = { .at = frame->body, .left = frame->size };
    struct tree        *tree = tree_of(run);
    struct entry        entry;
    struct error        err;
    int                 rc = 0;

    if (origin->lists == 0 || (origin->is_at_end && frame->size > 0))
        return false;
    origin->lists--;
    while (tree->items < TREE_ITEMS_MAX && (rc = entry_next(&reader, &entry, &err)) > 0) {
        if (entry.type == ENTRY_HARD && !is_file(tree, entry.size))
            return false;
        tree_add(tree, &(struct tree_item){
                           .type = entry.type, .mode = entry.mode, .size = entry.size,
                           .mtime = entry.mtime, .path = xstrdup(entry.path),
                           .target = entry.type == ENTRY_LINK ? xstrdup(entry.target) : NULL });
    }
    if (rc != 0)
        return false;
    if (frame->size > 0)
        ask_list(run);
    origin->is_at_end |= frame->size == 0;
    if (!origin->is_at_end || origin->lists > 0)
        return true;
    origin->is_listed = true;
    origin->asked = xcalloc(tree->items + 1, sizeof *origin->asked);
    bcast_begin_all(run, node_of(run));
    return true;
}

static bool is_file(const struct tree *tree, uint64_t item)
{
    return item < tree->items && tree->item[item].type == ENTRY_FILE;
}

/* If a failure comes before all entries are known, muster sends nothing, as with files of this
 * machine. */
static bool take_failed(struct run *run, const json_t *body)
{
    struct bcast *bcast = bcast_of(run);
    struct copy  *copy = &bcast->copy[bcast->origin->node];
    const char   *text = body_text(body, "text");

    if (text[0] == '\0')
        return false;
    copy->has_failed = true;
    bcast->origin->has_failed |= !bcast->origin->is_listed;
    failures_add(&bcast->failed, node_of(run), &copy->failures, "", "", text);
    return true;
}

/* --- hashes ----------------------------------------------------------------- */

const unsigned char *origin_hash(struct run *run, uint32_t file, uint32_t index)
{
    struct origin    *origin = bcast_of(run)->origin;
    struct tree_item *item = &tree_of(run)->item[file];

    if (item->fault != NULL)
        return NULL;
    if (index < item->summed)
        return item->sums + (size_t)index * CHUNK_HASH_BYTES;
    if (index >= origin->asked[file])
        ask_hashes(run, file);
    return NULL;
}

/* Requests hashes of this file and of the next ones: a node that wants one may want those,
 * too. */
static void ask_hashes(struct run *run, uint32_t file)
{
    struct origin *origin = bcast_of(run)->origin;
    struct tree   *tree = tree_of(run);
    unsigned char  ids[AHEAD * CHUNK_ID_BYTES];
    size_t         size = 0;

    for (; file < tree->items && size < sizeof ids && may_ask(origin); file++) {
        const struct tree_item *item = &tree->item[file];

        while (item->type == ENTRY_FILE && item->fault == NULL && size < sizeof ids &&
               origin->asked[file] < chunk_count(item->size) && may_ask(origin)) {
            struct chunk chunk = { 0, file, origin->asked[file]++ };

            origin->hash_bytes += chunk_size(item->size, chunk.index);
            origin->hash[origin->hashes++ % HASHES_MAX] = chunk;
            chunk_put(ids + size, chunk);
            size += CHUNK_ID_BYTES;
        }
    }
    if (size > 0)
        node_send_raw(node_of(run), FRAME_HASH, ids, size);
}

static bool may_ask(const struct origin *origin)
{
    return origin->hashes - origin->answered < HASHES_MAX && origin->hash_bytes < HASH_BYTES;
}

/* Hashes come in the order of the requests. */
static bool take_sums(struct run *run, const struct frame *frame)
{
    struct origin    *origin = bcast_of(run)->origin;
    struct tree_item *item;
    struct chunk      asked, chunk;
    size_t            at;

    if (frame->size % CHUNK_ROW_BYTES != 0 ||
        frame->size / CHUNK_ROW_BYTES > origin->hashes - origin->answered)
        return false;
    for (at = 0; at < frame->size; at += CHUNK_ROW_BYTES) {
        asked = origin->hash[origin->answered++ % HASHES_MAX];
        chunk = chunk_get(frame->body + at);
        item = &tree_of(run)->item[asked.file];
        origin->hash_bytes -= chunk_size(item->size, asked.index);
        if (chunk.index == CHUNK_WITHDRAWN) {
            give_up(item, "could not be read");
            continue;
        }
        if (!chunk_same(chunk, asked) || (item->fault == NULL && chunk.index != item->summed))
            return false;
        if (item->fault != NULL)
            continue;
        if (item->sums == NULL)
            item->sums = xreallocarray(NULL, chunk_count(item->size), CHUNK_HASH_BYTES);
        memcpy(item->sums + (size_t)item->summed++ * CHUNK_HASH_BYTES,
               frame->body + at + CHUNK_ID_BYTES, CHUNK_HASH_BYTES);
    }
    bcast_pump_all(run);
    return true;
}

/* The node itself has reported the reason. */
static void give_up(struct tree_item *item, const char *why)
{
    if (item->fault == NULL)
        item->fault = xstrdup(why);
}

/* --- contents --------------------------------------------------------------- */

int origin_read(struct run *run, struct chunk chunk, uint64_t at, void *bytes, size_t size,
                struct error *err)
{
    struct origin          *origin = bcast_of(run)->origin;
    const struct tree_item *item = &tree_of(run)->item[chunk.file];
    struct held            *held = find_held(origin, chunk);
    unsigned char           id[CHUNK_ID_BYTES];

    if (item->fault != NULL)
        return err_set(err, "%s", item->fault);
    if (held == NULL && (held = oldest_held(origin)) != NULL) {
        *held = (struct held){ .state = HELD_ASKED, .chunk = chunk, .bytes = held->bytes };
        chunk_put(id, chunk);
        node_send_raw(node_of(run), FRAME_NEED, id, sizeof id);
    }
    if (held == NULL || held->state != HELD_HERE)
        return 0;
    held->used = ++origin->count;
    memcpy(bytes, held->bytes + (at - (uint64_t)chunk.index * CHUNK_BYTES), size);
    return 1;
}

static struct held *find_held(struct origin *origin, struct chunk chunk)
{
    size_t i;

    for (i = 0; i < CACHE_MAX; i++)
        if (origin->held[i].state != HELD_NONE && chunk_same(origin->held[i].chunk, chunk))
            return &origin->held[i];
    return NULL;
}

/* NULL: all of them wait for their chunks. */
static struct held *oldest_held(struct origin *origin)
{
    struct held *oldest = NULL, *held;

    for (held = origin->held; held < origin->held + CACHE_MAX; held++)
        if (held->state != HELD_ASKED && (oldest == NULL || held->used < oldest->used))
            oldest = held;
    return oldest;
}

static bool take_file(struct origin *origin, const struct frame *frame)
{
    struct held *held = frame->size == CHUNK_ID_BYTES ? find_held(origin, chunk_get(frame->body))
                                                      : NULL;

    if (held == NULL || held->state != HELD_ASKED || origin->arriving != NULL)
        return false;
    if (held->bytes == NULL)
        held->bytes = xmalloc(CHUNK_BYTES);
    held->came = 0;
    origin->arriving = held;
    return true;
}

/* Empty DATA: the rest does not come. */
static bool take_data(struct run *run, const struct frame *frame)
{
    struct origin    *origin = bcast_of(run)->origin;
    struct held      *held = origin->arriving;
    struct tree_item *item = held != NULL ? &tree_of(run)->item[held->chunk.file] : NULL;
    unsigned char     hash[CHUNK_HASH_BYTES];
    size_t            size;

    if (held == NULL)
        return false;
    size = chunk_size(item->size, held->chunk.index);
    if (frame->size > size - held->came)
        return false;
    memcpy(held->bytes + held->came, frame->body, frame->size);
    held->came += frame->size;
    if (frame->size > 0 && held->came < size)
        return true;
    origin->arriving = NULL;
    held->used = ++origin->count;
    held->state = frame->size > 0 ? HELD_HERE : HELD_NONE;
    chunk_hash(held->bytes, held->came, hash);
    if (frame->size == 0)
        give_up(item, "could not be read");
    else if (memcmp(hash, item->sums + (size_t)held->chunk.index * CHUNK_HASH_BYTES,
                    sizeof hash) != 0)
        give_up(item, "it changed while it was sent");
    bcast_pump_all(run);
    return true;
}

static struct node *node_of(struct run *run)
{
    return run->node[bcast_of(run)->origin->node];
}

static struct tree *tree_of(struct run *run)
{
    return &bcast_of(run)->trees.tree[0];
}
