/* line_fold.c - see line_fold.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/line_fold.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

#define BUCKETS  1024
#define LOOK_MAX 64 /* lines of a bucket that a line is compared with */

struct held_line {
    struct held_line  *next, *next_in_bucket; /* in the order in which they came */
    struct folded_line line; /* rank[]: in any order, but the lowest comes first */
    size_t             room; /* of rank[] */
    uint64_t           number, hash;
    int64_t            since_ns;
};

/* The last line of a rank. */
struct last_line {
    struct held_line *held;   /* valid while that is held */
    uint64_t          number; /* 0: none yet */
};

struct line_fold {
    struct held_line *first, *last;
    struct {
        struct held_line *first, *last;
    } bucket[BUCKETS];
    struct last_line *of_rank;
    size_t            ranks;
    uint64_t          next_number;
    size_t            lines, bytes, members;
};

static struct last_line *last_of(struct line_fold *fold, int rank);
static struct held_line *find(const struct line_fold *fold, const struct last_line *last,
                              const struct rank_line *line, uint64_t hash);
static bool              is_same(const struct held_line *held, const struct rank_line *line,
                                 uint64_t hash);
static struct held_line *hold(struct line_fold *fold, const struct rank_line *line,
                              uint64_t hash, int64_t now_ns);
static void              add_member(struct line_fold *fold, struct held_line *held, int rank);
static struct rank_line  join(struct line_fold *fold, struct held_line *held,
                              const struct rank_line *line);
static uint64_t          hash_of(const struct rank_line *line);
static int               by_number(const void *a, const void *b);

struct line_fold *line_fold_new(void)
{
    struct line_fold *fold = xcalloc(1, sizeof *fold);

    fold->next_number = 1;
    return fold;
}

void line_fold_free(struct line_fold *fold)
{
    struct folded_line line;

    if (fold == NULL)
        return;
    while (fold->first != NULL) {
        line = line_fold_take(fold);
        folded_line_clear(&line);
    }
    free(fold->of_rank);
    free(fold);
}

bool line_fold_add(struct line_fold *fold, const struct rank_line *line, int64_t now_ns,
                   struct rank_line *back)
{
    struct last_line *last = last_of(fold, line->rank);
    const uint64_t    hash = hash_of(line);
    struct held_line *held = find(fold, last, line, hash);
    const bool        has_joined = held != NULL;

    if (has_joined)
        *back = join(fold, held, line);
    else
        held = hold(fold, line, hash, now_ns);
    *last = (struct last_line){ held, held->number };
    return has_joined;
}

static struct last_line *last_of(struct line_fold *fold, int rank)
{
    size_t count = (size_t)rank + 1;

    if (count > fold->ranks) {
        fold->of_rank = xreallocarray(fold->of_rank, count, sizeof *fold->of_rank);
        memset(fold->of_rank + fold->ranks, 0, (count - fold->ranks) * sizeof *fold->of_rank);
        fold->ranks = count;
    }
    return &fold->of_rank[rank];
}

/* Ranks often write the same lines in the same order, so the line behind the last one of the rank
 * comes first. */
static struct held_line *find(const struct line_fold *fold, const struct last_line *last,
                              const struct rank_line *line, uint64_t hash)
{
    const bool        is_held = fold->first != NULL && last->number >= fold->first->number;
    struct held_line *held = is_held ? last->held->next : fold->first;
    int               looks;

    if (held == NULL || is_same(held, line, hash))
        return held; /* NULL: all lines are before its own last one */
    held = fold->bucket[hash % BUCKETS].first;
    for (looks = 0; held != NULL && looks < LOOK_MAX; looks++, held = held->next_in_bucket)
        if (held->number > last->number && is_same(held, line, hash))
            return held;
    return NULL;
}

static bool is_same(const struct held_line *held, const struct rank_line *line, uint64_t hash)
{
    return held->hash == hash && held->line.kind == line->kind &&
           held->line.size == line->size && memcmp(held->line.text, line->text, line->size) == 0;
}

static struct held_line *hold(struct line_fold *fold, const struct rank_line *line,
                              uint64_t hash, int64_t now_ns)
{
    struct held_line *held = xcalloc(1, sizeof *held);
    const size_t      b = hash % BUCKETS;

    *held = (struct held_line){ .number = fold->next_number++, .hash = hash, .since_ns = now_ns,
                                .line = { .text = xmemdup(line->text, line->size),
                                          .size = line->size, .charge = line->charge,
                                          .kind = line->kind } };
    add_member(fold, held, line->rank);
    if (fold->last != NULL)
        fold->last->next = held;
    else
        fold->first = held;
    fold->last = held;
    if (fold->bucket[b].last != NULL)
        fold->bucket[b].last->next_in_bucket = held;
    else
        fold->bucket[b].first = held;
    fold->bucket[b].last = held;
    fold->lines++;
    fold->bytes += line->size;
    return held;
}

static void add_member(struct line_fold *fold, struct held_line *held, int rank)
{
    struct folded_line *line = &held->line;

    if (line->ranks == held->room) {
        held->room = held->room > 0 ? 2 * held->room : 1;
        line->rank = xreallocarray(line->rank, held->room, sizeof *line->rank);
    }
    line->rank[line->ranks++] = rank;
    fold->members++;
}

/* The lowest rank keeps its charge. Returns what goes back. */
static struct rank_line join(struct line_fold *fold, struct held_line *held,
                             const struct rank_line *line)
{
    struct folded_line *folded = &held->line;
    struct rank_line    back = *line;

    add_member(fold, held, line->rank);
    if (line->rank > folded->rank[0])
        return back;
    back.rank = folded->rank[0];
    back.charge = folded->charge;
    folded->rank[folded->ranks - 1] = folded->rank[0];
    folded->rank[0] = line->rank;
    folded->charge = line->charge;
    return back;
}

/* FNV-1a */
static uint64_t hash_of(const struct rank_line *line)
{
    uint64_t hash = 14695981039346656037u + (uint64_t)line->kind;
    size_t   i;

    for (i = 0; i < line->size; i++)
        hash = (hash ^ (unsigned char)line->text[i]) * 1099511628211u;
    return hash;
}

bool line_fold_holds_any(const struct line_fold *fold)
{
    return fold->first != NULL;
}

bool line_fold_holds(const struct line_fold *fold, int rank)
{
    return fold->first != NULL && (size_t)rank < fold->ranks &&
           fold->of_rank[rank].number >= fold->first->number;
}

size_t line_fold_bytes(const struct line_fold *fold)
{
    return fold->bytes;
}

bool line_fold_is_full(const struct line_fold *fold)
{
    return fold->bytes > LINE_FOLD_BYTES || fold->lines > LINE_FOLD_LINES ||
           fold->members > LINE_FOLD_MEMBERS;
}

int64_t line_fold_due_ns(const struct line_fold *fold)
{
    return fold->first->since_ns + (int64_t)(LINE_FOLD_S * NS_PER_S);
}

/* Lines leave in the order in which they came, so this one is the first of its bucket, too. */
struct folded_line line_fold_take(struct line_fold *fold)
{
    struct held_line  *held = fold->first;
    struct folded_line line = held->line;
    const size_t       b = held->hash % BUCKETS;

    fold->first = held->next;
    if (fold->first == NULL)
        fold->last = NULL;
    fold->bucket[b].first = held->next_in_bucket;
    if (fold->bucket[b].first == NULL)
        fold->bucket[b].last = NULL;
    fold->lines--;
    fold->bytes -= line.size;
    fold->members -= line.ranks;
    free(held);
    qsort(line.rank, line.ranks, sizeof *line.rank, by_number);
    return line;
}

static int by_number(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

void folded_line_clear(struct folded_line *line)
{
    free(line->text);
    free(line->rank);
    *line = (struct folded_line){ 0 };
}
