/* attention_template.h - attention in tiles, which does not store its weights in memory
 *
 * A thread has a tile of queries (for the gradients of K and V, a tile of keys) of one head of
 * one sequence, transposed, and iterates over the tiles of the other rows. So in a tile of
 * weights, each row belongs to one of those, and each column to one of the thread's own. Softmax
 * is corrected from tile to tile. For the backward pass, only the logarithm of its sum is kept.
 * The same thread sums in the same order, whatever the number of threads. Included by
 * kernels_template.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/cpu/tile_template.h"
#include "xalloc.h"

#define HIDDEN   ((real)-1e30) /* a score in place of those that a query does not see */
#define TILES_IN 6             /* scratch tiles of rows */

/* A tile of weights: which head, and which queries and keys. */
struct tile {
    int sequence, head;
    int query, queries; /* the first, and how many */
    int key, keys;
};

/* A thread's scratch memory. */
struct room {
    void *memory;
    real *rows[TILES_IN];
    real *w, *dw, *factor; /* TILE x TILE */
};

static struct room room_new(int width)
{
    const size_t each = TILE * (size_t)round_up(width, LANES), square = TILE * TILE;
    struct room  room;
    void        *aligned;
    real        *next;
    int          i;

    room.memory = xmalloc((TILES_IN * each + 3 * square) * sizeof(real) + VECTOR_BYTES);
    aligned = (char *)room.memory + VECTOR_BYTES - (uintptr_t)room.memory % VECTOR_BYTES;
    next = aligned;
    for (i = 0; i < TILES_IN; i++, next += each)
        room.rows[i] = next;
    room.w = next;
    room.dw = next + square;
    room.factor = next + 2 * square;
    memset(room.factor, 0, square * sizeof(real)); /* hidden weights get one, too */
    return room;
}

/* Returns a head's part of the row of a token. */
static elem *head_at(const struct attention *s, const void *x, int row, int sequence, int head,
                     int token)
{
    return (elem *)x + ((size_t)sequence * (size_t)s->length + (size_t)token) * (size_t)row +
           (size_t)head * (size_t)s->head_width;
}

static int kv_head(const struct attention *s, int head)
{
    return head / (s->heads / s->kv_heads);
}

/* Returns the index of a query in [sequences][heads][length]. */
static size_t number_of(const struct attention *s, const struct tile *t)
{
    return ((size_t)t->sequence * (size_t)s->heads + (size_t)t->head) * (size_t)s->length +
           (size_t)t->query;
}

/* Returns the first key that a query sees. It does not decrease from query to query. */
static int first_seen(const struct attention *s, int sequence, int query)
{
    int first = 0;

    if (!s->causal)
        return 0;
    if (s->begins != NULL)
        first = s->begins[(size_t)sequence * (size_t)s->length + (size_t)query];
    if (s->window > 0 && query - s->window + 1 > first)
        first = query - s->window + 1;
    return first;
}

/* Returns the number of the tile's queries that come before the first one which does not see
 * the key any more. */
static int still_seen(const struct attention *s, const struct tile *t, int key, int queries)
{
    while (queries < t->queries && first_seen(s, t->sequence, t->query + queries) <= key)
        queries++;
    return queries;
}

/* Returns the end of the queries that see one of the tile's keys. */
static int seen_until(const struct attention *s, const struct tile *t)
{
    const struct tile all = { .sequence = t->sequence, .query = t->key,
                              .queries = s->length - t->key };

    if (!s->causal || (s->window == 0 && s->begins == NULL))
        return s->length;
    return t->key + still_seen(s, &all, t->key + t->keys - 1, 0);
}

static bool sees_all(const struct attention *s, const struct tile *t)
{
    return !s->causal || (t->key + t->keys - 1 <= t->query &&
                          first_seen(s, t->sequence, t->query + t->queries - 1) <= t->key);
}

/* Hides all but columns first to end - 1 of a row. */
static void hide_row(real *row, int first, int end, int columns)
{
    int j;

    for (j = 0; j < first && j < columns; j++)
        row[j] = HIDDEN;
    for (j = end > 0 ? end : 0; j < columns; j++)
        row[j] = HIDDEN;
}

/* Hides what queries do not see: a row of w belongs to a key. */
static void hide_queries(const struct attention *s, const struct tile *t, real *w)
{
    int i, end = 0;

    if (sees_all(s, t))
        return;
    for (i = 0; i < t->keys; i++) {
        end = still_seen(s, t, t->key + i, end);
        hide_row(w + i * TILE, t->key + i - t->query, end, t->queries);
    }
}

/* The same where a row of w belongs to a query. */
static void hide_keys(const struct attention *s, const struct tile *t, real *w)
{
    int i;

    if (sees_all(s, t))
        return;
    for (i = 0; i < t->queries; i++)
        hide_row(w + i * TILE, first_seen(s, t->sequence, t->query + i) - t->key,
                 t->query + i - t->key + 1, t->keys);
}

/* Computes the factor by which dropout multiplies each weight that is not hidden; the others
 * keep some factor. Steps: elements of factor from one query, or key, to the next. */
static void draw_factors(const struct attention *s, const struct tile *t, real *factor,
                         int query_step, int key_step)
{
    const uint32_t limit = dropout_limit(&s->drop);
    const real     kept = 1 / (1 - (real)s->drop.rate);
    uint32_t       word[2 * WORDS];
    real           drawn[TILE];
    int            i, j;

    for (i = 0; i < t->queries; i++) {
        const int    query = t->query + i, seen = first_seen(s, t->sequence, query);
        const int    first = seen > t->key ? seen - t->key : 0;
        const int    end = s->causal && query < t->key + t->keys ? query - t->key + 1 : t->keys;
        const size_t row = (size_t)t->head * (size_t)s->length + (size_t)query;
        const size_t at = row * (size_t)s->length + (size_t)(t->key + first);
        real        *to = factor + i * query_step + first * key_step;

        if (end <= first)
            continue;
        draw_words(&s->drop, t->sequence, at / 4, word);
        if ((int)(at % 4) + end - first > WORDS)
            draw_words(&s->drop, t->sequence, at / 4 + COUNTERS, word + WORDS);
#pragma omp simd
        for (j = 0; j < end - first; j++)
            drawn[j] = word[(int)(at % 4) + j] < limit ? 0 : kept;
        for (j = 0; j < end - first; j++)
            to[j * key_step] = drawn[j];
    }
}

/* ---- forward ---- */

/* For each of the thread's queries, in the columns of a tile. */
struct softmax {
    real max[TILE], total[TILE]; /* of all keys so far; exponentials of score - max */
    real less[TILE];             /* what the maximum's change multiplies older sums by */
};

/* Replaces scores by weights, not yet divided by their total. */
static void soften(struct softmax *m, const struct tile *t, real *w)
{
    const int columns = round_up(t->queries, LANES);
    real      most[TILE];
    int       i, j;

    memcpy(most, m->max, sizeof most);
    for (i = 0; i < t->keys; i++) {
        const real *row = w + i * TILE;

#pragma omp simd
        for (j = 0; j < columns; j++)
            most[j] = row[j] > most[j] ? row[j] : most[j];
    }
#pragma omp simd
    for (j = 0; j < columns; j++) {
        m->less[j] = real_exp(m->max[j] - most[j]);
        m->total[j] *= m->less[j];
    }
    memcpy(m->max, most, sizeof most);
    for (i = 0; i < t->keys; i++) {
        real *row = w + i * TILE;

#pragma omp simd
        for (j = 0; j < columns; j++) {
            const real x = real_exp(row[j] - most[j]);

            row[j] = row[j] == HIDDEN ? 0 : x;
            m->total[j] += row[j];
        }
    }
}

static void multiply_each(real *w, const real *factor, int rows, int columns)
{
    int i, j;

    for (i = 0; i < rows; i++)
#pragma omp simd
        for (j = 0; j < columns; j++)
            w[i * TILE + j] *= factor[i * TILE + j];
}

static void multiply_rows(real *tile, const real *factor, int rows, int pitch)
{
    int i, j;

    for (i = 0; i < rows; i++)
#pragma omp simd
        for (j = 0; j < pitch; j++)
            tile[i * pitch + j] *= factor[i];
}

/* Writes rows of a tile, each times its factor. */
static void put(const struct attention *s, elem *out, int row, const real *tile,
                const real *factor, int rows)
{
    const int pitch = round_up(s->head_width, LANES);
    int       i, j;

    for (i = 0; i < rows; i++) {
        elem *to = out + (size_t)i * (size_t)row;

#pragma omp simd
        for (j = 0; j < s->head_width; j++)
            store(&to[j], tile[i * pitch + j] * factor[i]);
    }
}

/* Computes the outputs of the tile's queries. */
static void attend(const struct attention *s, const struct room *room, struct tile *t, elem *out,
                   real *kept, const struct qkv *x)
{
    const int      width = s->head_width, pitch = round_up(width, LANES);
    const int      of = kv_head(s, t->head), end = s->causal ? t->query + t->queries : s->length;
    real          *q = room->rows[0], *k = room->rows[1], *v = room->rows[2];
    real          *sum = room->rows[3];
    struct softmax m;
    int            i;

    fetch_turned(q, head_at(s, x->q, x->q_row, t->sequence, t->head, t->query), x->q_row,
                 t->queries, width, 1 / real_sqrt((real)width));
    memset(sum, 0, (size_t)(TILE * pitch) * sizeof *sum);
    for (i = 0; i < TILE; i++) {
        m.max[i] = HIDDEN;
        m.total[i] = 0;
    }
    for (t->key = first_seen(s, t->sequence, t->query); t->key < end; t->key += TILE) {
        t->keys = end - t->key < TILE ? end - t->key : TILE;
        fetch(k, head_at(s, x->k, x->k_row, t->sequence, of, t->key), x->k_row, t->keys, width);
        fetch(v, head_at(s, x->v, x->v_row, t->sequence, of, t->key), x->v_row, t->keys, width);
        multiply(room->w, TILE, (struct left){ k, pitch, 1 }, q, TILE, t->keys, t->queries, width,
                 false);
        hide_queries(s, t, room->w);
        soften(&m, t, room->w);
        if (s->drop.rate > 0) {
            draw_factors(s, t, room->factor, 1, TILE);
            multiply_each(room->w, room->factor, t->keys, t->queries);
        }
        multiply_rows(sum, m.less, t->queries, pitch);
        multiply(sum, pitch, (struct left){ room->w, 1, TILE }, v, pitch, t->queries, width,
                 t->keys, true);
    }
    for (i = 0; i < t->queries; i++) {
        kept[number_of(s, t) + (size_t)i] = m.max[i] + real_log(m.total[i]);
        m.less[i] = 1 / m.total[i];
    }
    put(s, out, s->heads * width, sum, m.less, t->queries);
}

static size_t attention_bytes(struct ops *ops, const struct attention *s)
{
    (void)ops;
    return (size_t)s->sequences * (size_t)s->heads * (size_t)s->length * sizeof(real);
}

static struct tile query_tile(const struct attention *s, int number)
{
    const int   tiles = round_up(s->length, TILE) / TILE;
    struct tile t = { .sequence = number / tiles / s->heads, .head = number / tiles % s->heads,
                      .query = number % tiles * TILE };

    t.queries = s->length - t.query < TILE ? s->length - t.query : TILE;
    return t;
}

static void attention(struct ops *ops, const struct attention *s, void *out, void *kept,
                      const struct qkv *x)
{
    const int count = s->sequences * s->heads * (round_up(s->length, TILE) / TILE);

    (void)ops;
#pragma omp parallel if ((double)count * s->length * s->head_width > WORTH_THREADS)
    {
        const struct room room = room_new(s->head_width);
        int               i;

#pragma omp for schedule(dynamic)
        for (i = 0; i < count; i++) {
            struct tile t = query_tile(s, i);

            attend(s, &room, &t,
                   head_at(s, out, s->heads * s->head_width, t.sequence, t.head, t.query), kept,
                   x);
        }
        free(room.memory);
    }
}

/* ---- backward ---- */

/* What the backward pass reads. */
struct given {
    const struct attention *s;
    const void             *dout, *out;
    int                     out_row;
    const struct qkv       *x;
    const real             *kept;
    real                   *dots; /* for each query, dout times out */
};

static real dot_of(const elem *x, const elem *y, int width)
{
    real sum = 0;
    int  j;

#pragma omp simd reduction(+ : sum)
    for (j = 0; j < width; j++)
        sum += load(&x[j]) * load(&y[j]);
    return sum;
}

/* Replaces w and dw, scores and dropped weights' gradients, by dropped weights and scores'
 * gradients. One query per column, with its kept number and its dot. */
static void scores_of_queries(const struct tile *t, real *w, real *dw, const real *factor,
                              const real *kept, const real *dots)
{
    const int columns = round_up(t->queries, LANES);
    int       i, j;

    for (i = 0; i < t->keys; i++, w += TILE, dw += TILE) {
#pragma omp simd
        for (j = 0; j < columns; j++) {
            const real x = real_exp(w[j] - kept[j]);

            w[j] = w[j] == HIDDEN ? 0 : x;
        }
        if (factor != NULL)
#pragma omp simd
            for (j = 0; j < columns; j++)
                dw[j] *= factor[i * TILE + j];
#pragma omp simd
        for (j = 0; j < columns; j++)
            dw[j] = w[j] * (dw[j] - dots[j]);
    }
}

/* Computes the dots and the gradient of the tile's queries. */
static void to_queries(const struct given *g, const struct room *room, struct tile *t,
                       const struct qkv *dx)
{
    const struct attention *s = g->s;
    const int               width = s->head_width, pitch = round_up(width, LANES);
    const int   of = kv_head(s, t->head), end = s->causal ? t->query + t->queries : s->length;
    const elem *dout = head_at(s, g->dout, g->out_row, t->sequence, t->head, t->query);
    const elem *out = head_at(s, g->out, g->out_row, t->sequence, t->head, t->query);
    real       *q = room->rows[0], *d = room->rows[1], *k = room->rows[2], *v = room->rows[3];
    real       *sum = room->rows[4], kept[TILE] = { 0 }, dots[TILE] = { 0 }, scale[TILE];
    int         i;

    for (i = 0; i < t->queries; i++) {
        kept[i] = g->kept[number_of(s, t) + (size_t)i];
        dots[i] = dot_of(dout + (size_t)i * (size_t)g->out_row,
                         out + (size_t)i * (size_t)g->out_row, width);
        g->dots[number_of(s, t) + (size_t)i] = dots[i];
        scale[i] = 1 / real_sqrt((real)width);
    }
    fetch_turned(q, head_at(s, g->x->q, g->x->q_row, t->sequence, t->head, t->query),
                 g->x->q_row, t->queries, width, scale[0]);
    fetch_turned(d, dout, g->out_row, t->queries, width, 1);
    memset(sum, 0, (size_t)(TILE * pitch) * sizeof *sum);
    for (t->key = first_seen(s, t->sequence, t->query); t->key < end; t->key += TILE) {
        t->keys = end - t->key < TILE ? end - t->key : TILE;
        fetch(k, head_at(s, g->x->k, g->x->k_row, t->sequence, of, t->key), g->x->k_row, t->keys,
              width);
        fetch(v, head_at(s, g->x->v, g->x->v_row, t->sequence, of, t->key), g->x->v_row, t->keys,
              width);
        multiply(room->w, TILE, (struct left){ k, pitch, 1 }, q, TILE, t->keys, t->queries, width,
                 false);
        multiply(room->dw, TILE, (struct left){ v, pitch, 1 }, d, TILE, t->keys, t->queries,
                 width, false);
        hide_queries(s, t, room->w);
        if (s->drop.rate > 0)
            draw_factors(s, t, room->factor, 1, TILE);
        scores_of_queries(t, room->w, room->dw, s->drop.rate > 0 ? room->factor : NULL, kept,
                          dots);
        multiply(sum, pitch, (struct left){ room->dw, 1, TILE }, k, pitch, t->queries, width,
                 t->keys, true);
    }
    put(s, head_at(s, dx->q, dx->q_row, t->sequence, t->head, t->query), dx->q_row, sum, scale,
        t->queries);
}

/* As scores_of_queries(), with one query per row. */
static void scores_of_keys(const struct tile *t, real *w, real *dw, const real *factor,
                           const real *kept, const real *dots)
{
    const int columns = round_up(t->keys, LANES);
    int       i, j;

    for (i = 0; i < t->queries; i++, w += TILE, dw += TILE) {
        const real sum = kept[i], dot = dots[i];

#pragma omp simd
        for (j = 0; j < columns; j++) {
            const real x = real_exp(w[j] - sum);

            w[j] = w[j] == HIDDEN ? 0 : x;
        }
        if (factor == NULL) {
#pragma omp simd
            for (j = 0; j < columns; j++)
                dw[j] = w[j] * (dw[j] - dot);
            continue;
        }
#pragma omp simd
        for (j = 0; j < columns; j++) {
            dw[j] = w[j] * (dw[j] * factor[i * TILE + j] - dot);
            w[j] *= factor[i * TILE + j];
        }
    }
}

/* Adds what one query head has to the sums for the tile's keys and values. */
static void add_head(const struct given *g, const struct room *room, struct tile *t)
{
    const struct attention *s = g->s;
    const int   width = s->head_width, pitch = round_up(width, LANES), end = seen_until(s, t);
    real       *k = room->rows[0], *v = room->rows[1], *q = room->rows[2], *d = room->rows[3];

    for (t->query = s->causal ? t->key : 0; t->query < end; t->query += TILE) {
        t->queries = end - t->query < TILE ? end - t->query : TILE;
        fetch(q, head_at(s, g->x->q, g->x->q_row, t->sequence, t->head, t->query), g->x->q_row,
              t->queries, width);
        fetch(d, head_at(s, g->dout, g->out_row, t->sequence, t->head, t->query), g->out_row,
              t->queries, width);
        multiply(room->w, TILE, (struct left){ q, pitch, 1 }, k, TILE, t->queries, t->keys, width,
                 false);
        multiply(room->dw, TILE, (struct left){ d, pitch, 1 }, v, TILE, t->queries, t->keys,
                 width, false);
        hide_keys(s, t, room->w);
        if (s->drop.rate > 0)
            draw_factors(s, t, room->factor, TILE, 1);
        scores_of_keys(t, room->w, room->dw, s->drop.rate > 0 ? room->factor : NULL,
                       g->kept + number_of(s, t), g->dots + number_of(s, t));
        multiply(room->rows[5], pitch, (struct left){ room->w, 1, TILE }, d, pitch, t->keys,
                 width, t->queries, true);
        multiply(room->rows[4], pitch, (struct left){ room->dw, 1, TILE }, q, pitch, t->keys,
                 width, t->queries, true);
    }
}

/* Computes the gradients of the keys and values of a tile, which several query heads share. */
static void to_keys(const struct given *g, const struct room *room, int number,
                    const struct qkv *dx)
{
    const struct attention *s = g->s;
    const int   width = s->head_width, group = s->heads / s->kv_heads;
    const int   tiles = round_up(s->length, TILE) / TILE, of = number / tiles % s->kv_heads;
    const size_t bytes = (size_t)(TILE * round_up(width, LANES)) * sizeof(real);
    struct tile t = { .sequence = number / tiles / s->kv_heads, .key = number % tiles * TILE };
    real        scale[TILE], one[TILE];
    int         i;

    for (i = 0; i < TILE; i++) {
        scale[i] = 1 / real_sqrt((real)width);
        one[i] = 1;
    }
    t.keys = s->length - t.key < TILE ? s->length - t.key : TILE;
    fetch_turned(room->rows[0], head_at(s, g->x->k, g->x->k_row, t.sequence, of, t.key),
                 g->x->k_row, t.keys, width, scale[0]);
    fetch_turned(room->rows[1], head_at(s, g->x->v, g->x->v_row, t.sequence, of, t.key),
                 g->x->v_row, t.keys, width, 1);
    memset(room->rows[4], 0, bytes);
    memset(room->rows[5], 0, bytes);
    for (t.head = of * group; t.head < (of + 1) * group; t.head++)
        add_head(g, room, &t);
    put(s, head_at(s, dx->k, dx->k_row, t.sequence, of, t.key), dx->k_row, room->rows[4], scale,
        t.keys);
    put(s, head_at(s, dx->v, dx->v_row, t.sequence, of, t.key), dx->v_row, room->rows[5], one,
        t.keys);
}

static void attention_backward(struct ops *ops, const struct attention *s, const struct qkv *dx,
                               void *scratch, const void *dout, const void *out,
                               const struct qkv *x, const void *kept)
{
    const struct given g = { s, dout, out, s->heads * s->head_width, x, kept, scratch };
    const int          tiles = s->sequences * (round_up(s->length, TILE) / TILE);
    const int          count = tiles * s->heads, kv_count = tiles * s->kv_heads;

    (void)ops;
#pragma omp parallel if ((double)count * s->length * s->head_width > WORTH_THREADS)
    {
        const struct room room = room_new(s->head_width);
        int               i;

#pragma omp for schedule(dynamic)
        for (i = 0; i < count; i++) {
            struct tile t = query_tile(s, i);

            to_queries(&g, &room, &t, dx);
        }
#pragma omp for schedule(dynamic)
        for (i = 0; i < kv_count; i++)
            to_keys(&g, &room, i, dx);
        free(room.memory);
    }
}
