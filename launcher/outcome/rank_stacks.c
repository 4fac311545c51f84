/* rank_stacks.c - see rank_stacks.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/rank_stacks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "hostrange.h"
#include "sanitize.h"
#include "xalloc.h"

#define HASH_DIGITS 16 /* before a key, so that most keys differ early */

struct shown;

static char       *safe_text(const char *text);
static char       *key_of(const char *text);
static void        add_line(struct buffer *key, const char *line, size_t length);
static bool        is_command(const char *line, size_t length);
static bool        has_words(const char *line, size_t length, const char *words);
static bool        is_id(const char *line, size_t at);
static uint64_t    hash_of(const struct buffer *key);
static struct shown *in_order(struct rank_stacks *stacks);
static json_t     *rank_json(int rank, const struct plan *plan, size_t node);
static int         by_first(const void *a, const void *b);
static size_t     *nodes_of(const struct plan *plan);
static void        add_head(const struct group *group, const struct plan *plan,
                            const size_t *node_of, struct buffer *out);

void rank_stacks_add(struct rank_stacks *stacks, int rank, const char *text)
{
    const size_t  known = stacks->groups.count;
    struct group *group;
    char         *safe = safe_text(text), *key = key_of(safe);
    size_t        i;

    for (i = 0; i < known && strcmp(stacks->groups.group[i].key, key) != 0; i++)
        ;
    if (i == known && stacks->size + strlen(safe) > RANK_STACKS_MAX) {
        stacks->is_full = true;
        free(safe);
    } else {
        groups_add(&stacks->groups, key, rank);
        group = &stacks->groups.group[i];
        stacks->text = xreallocarray(stacks->text, stacks->groups.count, sizeof *stacks->text);
        if (i == known)
            stacks->size += strlen(safe);
        if (i == known || rank < group->member[0]) {
            free(i < known ? stacks->text[i] : NULL);
            stacks->text[i] = safe;
            group->member[group->count - 1] = group->member[0]; /* the lowest comes first */
            group->member[0] = rank;
        } else {
            free(safe);
        }
    }
    free(key);
}

/* Returns whole lines without control characters; caller frees. */
static char *safe_text(const char *text)
{
    struct buffer safe = { 0 };
    char         *line;
    size_t        length;

    for (; *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        line = sanitize_text(text, length);
        buffer_add_text(&safe, line);
        buffer_add_text(&safe, "\n");
        free(line);
    }
    buffer_add(&safe, "", 1);
    return safe.bytes;
}

/* Returns what the texts of ranks at the same place have in common; caller frees. */
static char *key_of(const char *text)
{
    struct buffer key = { 0 };
    char          hash[HASH_DIGITS + 1];
    size_t        length;

    buffer_reserve(&key, HASH_DIGITS + strlen(text) + 1);
    key.size = HASH_DIGITS;
    for (; *text != '\0'; text += length + 1) {
        length = strcspn(text, "\n");
        add_line(&key, text, length);
        if (text[length] == '\0')
            break;
    }
    buffer_add(&key, "", 1);
    snprintf(hash, sizeof hash, "%016" PRIx64, hash_of(&key));
    memcpy(key.bytes, hash, HASH_DIGITS);
    return key.bytes;
}

/* Adds a line with '#' in the place of numbers that differ between ranks at the same place. */
static void add_line(struct buffer *key, const char *line, size_t length)
{
    const bool is_any = is_command(line, length);
    size_t     at = 0, digits;

    while (at < length) {
        const bool is_start = at == 0 || (!isalnum((unsigned char)line[at - 1]) &&
                                          line[at - 1] != '_');

        digits = 0;
        if (is_start && has_words(line + at, length - at, "0x")) {
            at += 2;
            digits = strspn(line + at, "0123456789abcdefABCDEF");
        } else if (is_start && (is_any || is_id(line, at))) {
            digits = strspn(line + at, "0123456789");
        }
        at += digits;
        if (digits > 0)
            buffer_add(key, "#", 1);
        else
            buffer_add(key, &line[at++], 1);
    }
    buffer_add(key, "\n", 1);
}

/* Lines of the agent and of its helpers that name a process: "pid 7: train.py --local_rank=3". */
static bool is_command(const char *line, size_t length)
{
    return has_words(line, length, "pid ") || has_words(line, length, "Process ") ||
           has_words(line, length, "py-spy ") || has_words(line, length, "gdb ") ||
           has_words(line, length, "faulthandler, ");
}

static bool has_words(const char *line, size_t length, const char *words)
{
    return length >= strlen(words) && memcmp(line, words, strlen(words)) == 0;
}

/* Does the number there count processes or threads? */
static bool is_id(const char *line, size_t at)
{
    static const char *const before[] = { "thread ", "Thread ", "LWP ",
                                          "process ", "Process ", "/proc/" };
    size_t                   i, length;

    for (i = 0; i < sizeof before / sizeof *before; i++) {
        length = strlen(before[i]);
        if (at >= length && memcmp(line + at - length, before[i], length) == 0)
            return true;
    }
    return false;
}

/* FNV-1a. Equal hashes do no harm: the rest of the key decides. */
static uint64_t hash_of(const struct buffer *key)
{
    uint64_t hash = 14695981039346656037u;
    size_t   i;

    for (i = HASH_DIGITS; i < key->size; i++)
        hash = (hash ^ (unsigned char)key->bytes[i]) * 1099511628211u;
    return hash;
}

/* A group, and where its text is. */
struct shown {
    const struct group *group;
    const char         *text;
};

void rank_stacks_write(struct rank_stacks *stacks, const struct plan *plan, struct buffer *out)
{
    const size_t  count = stacks->groups.count;
    struct shown *shown = in_order(stacks);
    size_t       *node_of = nodes_of(plan), i;

    for (i = 0; i < count; i++) {
        add_head(shown[i].group, plan, node_of, out);
        buffer_add_text(out, shown[i].text);
    }
    if (stacks->is_full)
        buffer_add_text(out, "... and more ranks: their stacks are too long together\n");
    free(node_of);
    free(shown);
}

json_t *rank_stacks_json(struct rank_stacks *stacks, const struct plan *plan)
{
    json_t       *list = json_array(), *ranks;
    struct shown *shown = in_order(stacks);
    size_t       *node_of = nodes_of(plan), i, j;

    for (i = 0; i < stacks->groups.count; i++) {
        const struct group *group = shown[i].group;

        ranks = json_array();
        for (j = 0; j < group->count; j++)
            json_array_append_new(ranks, rank_json(group->member[j], plan,
                                                   node_of[group->member[j]]));
        json_array_append_new(list, json_pack("{s:o, s:o}", "ranks", ranks, "text",
                                              json_text(shown[i].text, strlen(shown[i].text))));
    }
    free(node_of);
    free(shown);
    return list;
}

static json_t *rank_json(int rank, const struct plan *plan, size_t node)
{
    const struct plan *world = plan_world(plan, node);
    json_t            *one = json_pack("{s:i, s:s}", "rank", rank - world->first_rank, "node",
                                       plan_label(&plan->node[node]));

    if (world->role_name != NULL)
        json_object_set_new(one, "role", json_string(world->role_name));
    return one;
}

/* Returns the groups by their first ranks; caller frees. */
static struct shown *in_order(struct rank_stacks *stacks)
{
    const size_t  count = stacks->groups.count;
    struct shown *shown = xcalloc(count + 1, sizeof *shown);
    size_t        i;

    groups_sort(&stacks->groups);
    for (i = 0; i < count; i++)
        shown[i] = (struct shown){ &stacks->groups.group[i], stacks->text[i] };
    qsort(shown, count, sizeof *shown, by_first);
    return shown;
}

static int by_first(const void *a, const void *b)
{
    int left = ((const struct shown *)a)->group->member[0];
    int right = ((const struct shown *)b)->group->member[0];

    return (left > right) - (left < right);
}

/* Returns the index of each rank's node; caller frees. */
static size_t *nodes_of(const struct plan *plan)
{
    size_t *node_of = xcalloc((size_t)plan->world_size + 1, sizeof *node_of), n;
    int     i;

    for (n = 0; n < plan->nodes; n++)
        for (i = 0; i < plan->node[n].ranks; i++)
            node_of[plan->node[n].rank[i].rank] = n;
    return node_of;
}

/* Adds "ranks 0-3 on te[1-2]:". */
static void add_head(const struct group *group, const struct plan *plan, const size_t *node_of,
                     struct buffer *out)
{
    char          *ranks = group_ranks(group, plan), *names;
    struct strlist hosts = { 0 };
    size_t         i;

    for (i = 0; i < group->count; i++)
        if (i == 0 || node_of[group->member[i]] != node_of[group->member[i - 1]])
            strlist_add(&hosts, plan_label(&plan->node[node_of[group->member[i]]]));
    names = hostrange_fold(&hosts);
    buffer_add_text(out, ranks);
    buffer_add_text(out, " on ");
    buffer_add_text(out, names);
    buffer_add_text(out, ":\n");
    strlist_clear(&hosts);
    free(names);
    free(ranks);
}

void rank_stacks_clear(struct rank_stacks *stacks)
{
    size_t i;

    for (i = 0; i < stacks->groups.count; i++)
        free(stacks->text[i]);
    free(stacks->text);
    groups_clear(&stacks->groups);
    *stacks = (struct rank_stacks){ 0 };
}
