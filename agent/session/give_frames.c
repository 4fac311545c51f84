/* give_frames.c - sends files of this node to the launcher: `muster collect`, and
 * `muster bcast` from a node
 *
 * The launcher requests each part: the next entries, the hashes of chunks, their contents. So
 * no more is in flight than it has requested. If a file cannot be read, or changes, its path
 * is reported and the other files continue.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "clock.h"
#include "copy/bcast_sums.h"
#include "copy/bcast_tree.h"
#include "session/bcast_work.h"
#include "xalloc.h"

#define PATHS_MAX    1024
#define PART_MAX     (128u << 10) /* bytes of entries, or of a chunk, in one frame */
#define LIST_ENTRIES 512  /* per frame */
#define LIST_S       0.5  /* seconds to look for entries, if some were found */
#define HASH_MAX     256u /* chunks per HASH */
#define NEED_MAX     256u

struct give {
    struct trees    trees;
    struct strlist  exclude;
    size_t          sent; /* entries sent */
    struct strlist  problems;
    size_t          told; /* problems reported */
    bool            has_told_rest; /* reported how many more there are */
    struct sum_file hashed, read;
};

static struct strlist texts_of(const struct agent *agent, const json_t *id);
static int            links_of(const json_t *body, enum tree_links *links);
static struct tree   *tree_of(const struct give *give);
static void           tell_problems(struct agent *agent, bool is_at_end);
static struct tree_item *item_of(const struct give *give, struct chunk chunk);
static void           tell_fault(struct agent *agent, const struct tree_item *item,
                                 const char *why);
static void           give_chunk(struct agent *agent, struct tree_item *item, struct chunk chunk);
static int            no_such_chunk(const struct frame *frame, struct error *err);
static int            check_ids(const struct agent *agent, const struct frame *frame, size_t most,
                                struct error *err);

void give_frames_close(struct agent *agent)
{
    struct give *give = agent->give;

    if (give == NULL)
        return;
    sum_file_close(&give->hashed);
    sum_file_close(&give->read);
    trees_clear(&give->trees);
    strlist_clear(&give->problems);
    strlist_clear(&give->exclude);
    free(give);
}

int give_frames_take_give(struct agent *agent, const struct frame *frame, const json_t *body,
                          struct error *err)
{
    struct strlist    paths = texts_of(agent, json_object_get(body, "paths"));
    struct strlist    exclude = texts_of(agent, json_object_get(body, "exclude"));
    struct tree_rules rules = { .links = TREE_LINKS_COPY };

    (void)frame;
    blobs_clear(&agent->blobs);
    if (paths.count == 0 || agent->give != NULL || links_of(body, &rules.links) < 0) {
        strlist_clear(&paths);
        strlist_clear(&exclude);
        return err_set(err, "GIVE frame: sent twice, or \"links\" is unknown, or \"paths\" does "
                            "not name a blob with up to %d paths",
                       PATHS_MAX);
    }
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    agent->give = xcalloc(1, sizeof *agent->give);
    agent->give->hashed = agent->give->read = SUM_FILE_NONE;
    agent->give->exclude = exclude;
    rules.exclude = &agent->give->exclude;
    trees_begin(&agent->give->trees, &paths, "/", &rules, &agent->give->problems);
    strlist_clear(&paths);
    return 0;
}

/* Returns the texts in a blob, each ended by NUL. Returns none if the blob is malformed. */
static struct strlist texts_of(const struct agent *agent, const json_t *id)
{
    const struct blob *blob = NULL;
    struct strlist     texts = { 0 };

    if (json_is_integer(id) && json_integer_value(id) >= 0 &&
        json_integer_value(id) <= UINT32_MAX)
        blob = blobs_find(&agent->blobs, (uint32_t)json_integer_value(id));
    if (blob != NULL && (strlist_unpack(&texts, blob->bytes, blob->size) < 0 ||
                         texts.count > PATHS_MAX))
        strlist_clear(&texts);
    return texts;
}

/* Returns -1 for an unknown word. */
static int links_of(const json_t *body, enum tree_links *links)
{
    const char *word = json_string_value(json_object_get(body, "links"));
    size_t      i;

    for (i = 0; word != NULL && tree_links_words[i] != NULL; i++)
        if (strcmp(tree_links_words[i], word) == 0) {
            *links = (enum tree_links)i;
            return 0;
        }
    return -1;
}

/* --- entries ---------------------------------------------------------------- */

int give_frames_take_list(struct agent *agent, const struct frame *frame, const json_t *body,
                          struct error *err)
{
    static unsigned char entries[PART_MAX];
    struct give         *give = agent->give;
    int64_t              late_ns = clock_now_ns() + (int64_t)(LIST_S * NS_PER_S);
    size_t               size = 0, count = 0;

    (void)frame, (void)body;
    if (give == NULL)
        return err_set(err, "LIST frame before GIVE");
    while (count < LIST_ENTRIES && size + ENTRY_BYTES_MAX <= sizeof entries &&
           (count == 0 || clock_now_ns() < late_ns)) {
        const struct tree *tree = tree_of(give);

        if (tree != NULL && give->sent < tree->items) {
            struct entry entry = tree_entry(&tree->item[give->sent++]);

            size += entry_put(entries + size, &entry);
            count++;
        } else if (!trees_step(&give->trees, &give->problems)) {
            break;
        }
    }
    tell_problems(agent, count == 0);
    bcast_send_raw(agent, FRAME_ENTRIES, entries, size);
    return 0;
}

/* All paths share one tree. NULL: no path was usable. */
static struct tree *tree_of(const struct give *give)
{
    return give->trees.count > 0 ? &give->trees.tree[0] : NULL;
}

static void tell_problems(struct agent *agent, bool is_at_end)
{
    struct give *give = agent->give;
    struct error rest;
    const char  *text;

    for (; give->told < give->problems.count; give->told++) {
        text = give->problems.item[give->told];
        agent_send(agent, FRAME_FAILED, 0, json_pack("{s:o}", "text",
                                                     json_text(text, strlen(text))));
    }
    if (is_at_end && give->trees.unlisted > 0 && !give->has_told_rest) {
        give->has_told_rest = true;
        err_set(&rest, "... and %zu more like these", give->trees.unlisted);
        agent_send(agent, FRAME_FAILED, 0, json_pack("{s:s}", "text", rest.text));
    }
}

/* --- contents --------------------------------------------------------------- */

int give_frames_take_hash(struct agent *agent, const struct frame *frame, const json_t *body,
                          struct error *err)
{
    static unsigned char rows[HASH_MAX * CHUNK_ROW_BYTES];
    size_t               at, size = 0;

    (void)body;
    if (check_ids(agent, frame, HASH_MAX, err) < 0)
        return -1;
    for (at = 0; at < frame->size; at += CHUNK_ID_BYTES, size += CHUNK_ROW_BYTES) {
        struct chunk         chunk = chunk_get(frame->body + at);
        struct tree_item    *item = item_of(agent->give, chunk);
        const unsigned char *hash;
        bool                 was_known;

        if (item == NULL)
            return no_such_chunk(frame, err);
        was_known = item->fault != NULL;
        hash = sum_of(&agent->give->trees, item, chunk.index, &agent->give->hashed);
        if (hash == NULL && !was_known)
            tell_fault(agent, item, item->fault);
        memset(rows + size, 0, CHUNK_ROW_BYTES);
        if (hash != NULL)
            memcpy(rows + size + CHUNK_ID_BYTES, hash, CHUNK_HASH_BYTES);
        else
            chunk.index = CHUNK_WITHDRAWN;
        chunk_put(rows + size, chunk);
    }
    bcast_send_raw(agent, FRAME_SUMS, rows, size);
    return 0;
}

static int check_ids(const struct agent *agent, const struct frame *frame, size_t most,
                     struct error *err)
{
    if (agent->give == NULL || frame->size % CHUNK_ID_BYTES != 0 ||
        frame->size / CHUNK_ID_BYTES > most)
        return err_set(err, "%s frame before GIVE, or of %zu bytes", frame_name(frame->type),
                       frame->size);
    return 0;
}

static int no_such_chunk(const struct frame *frame, struct error *err)
{
    return err_set(err, "%s frame: it names a chunk that was not announced by an entry",
                   frame_name(frame->type));
}

/* Returns the file of a chunk that exists; else NULL. */
static struct tree_item *item_of(const struct give *give, struct chunk chunk)
{
    struct tree *tree = tree_of(give);

    return tree != NULL && chunk.tree == 0 && chunk.file < give->sent &&
           tree->item[chunk.file].type == ENTRY_FILE &&
           chunk.index < chunk_count(tree->item[chunk.file].size) ? &tree->item[chunk.file] : NULL;
}

static void tell_fault(struct agent *agent, const struct tree_item *item, const char *why)
{
    struct error text;

    err_set(&text, "%s: %s", item->path, why);
    agent_send(agent, FRAME_FAILED, 0, json_pack("{s:o}", "text",
                                                 json_text(text.text, strlen(text.text))));
}

int give_frames_take_need(struct agent *agent, const struct frame *frame, const json_t *body,
                          struct error *err)
{
    struct tree_item *item;
    size_t            at;

    (void)body;
    if (check_ids(agent, frame, NEED_MAX, err) < 0)
        return -1;
    for (at = 0; at < frame->size; at += CHUNK_ID_BYTES)
        if ((item = item_of(agent->give, chunk_get(frame->body + at))) != NULL)
            give_chunk(agent, item, chunk_get(frame->body + at));
        else
            return no_such_chunk(frame, err);
    return 0;
}

static void give_chunk(struct agent *agent, struct tree_item *item, struct chunk chunk)
{
    static unsigned char bytes[CHUNK_BYTES];
    unsigned char        id[CHUNK_ID_BYTES];
    size_t               size = chunk_size(item->size, chunk.index), at, part;
    struct error         why;

    if (item->fault == NULL && sum_read(&agent->give->trees, item, &agent->give->read,
                                        (uint64_t)chunk.index * CHUNK_BYTES, bytes, size,
                                        &why) < 0) {
        item->fault = xstrdup(why.text);
        tell_fault(agent, item, item->fault);
    }
    chunk_put(id, chunk);
    bcast_send_raw(agent, FRAME_FILE, id, sizeof id);
    if (item->fault != NULL)
        bcast_send_raw(agent, FRAME_DATA, NULL, 0);
    for (at = 0; item->fault == NULL && at < size; at += part) {
        part = size - at < PART_MAX ? size - at : PART_MAX;
        bcast_send_raw(agent, FRAME_DATA, bytes + at, part);
    }
}

int give_frames_read(const struct agent *agent, struct chunk chunk, void *bytes, size_t *size)
{
    struct tree_item *item = agent->give != NULL ? item_of(agent->give, chunk) : NULL;
    struct error      why;

    if (item == NULL || item->fault != NULL)
        return -1;
    *size = chunk_size(item->size, chunk.index);
    return sum_read(&agent->give->trees, item, &agent->give->read,
                    (uint64_t)chunk.index * CHUNK_BYTES, bytes, *size, &why) < 0 ? -1 : 1;
}
