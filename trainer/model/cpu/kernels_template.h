/* kernels_template.h - the loops of ops_cpu.c, for one element type
 *
 * The including file defines elem (the stored type), real (the type of sums), ELEM_TYPE (elem's
 * enum dtype), LOAD(x), which converts elem to real, STORE(x), which converts real to elem, and
 * TABLE, the name of the resulting table. OpenMP divides every loop over rows; the result for a
 * row does not depend on the thread.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/cpu/kernels.h"
#include "model/philox.h"
#include "model/real_math.h"
#include "model/token_order.h"

/* Columns per thread in a sum over rows: a few cache lines. */
#define COLUMNS 64
/* Elements; up to this number, one thread does all the work. */
#define WORTH_THREADS 16384

static inline real load(const elem *x)
{
    return LOAD(*x);
}

static inline void store(elem *x, real value)
{
    *x = STORE(value);
}

static const elem *row_of(const void *x, int row, int width)
{
    return (const elem *)x + (size_t)row * (size_t)width;
}

static elem *out_row(void *x, int row, int width)
{
    return (elem *)x + (size_t)row * (size_t)width;
}

static void zero(struct ops *ops, void *memory, size_t bytes)
{
    (void)ops;
    memset(memory, 0, bytes);
}

static void add(struct ops *ops, void *out, const void *a, const void *b, size_t count)
{
    elem       *o = out;
    const elem *x = a, *y = b;
    size_t      i;

    (void)ops;
#pragma omp parallel for simd schedule(static) if (parallel : count > WORTH_THREADS)
    for (i = 0; i < count; i++)
        store(&o[i], load(&x[i]) + load(&y[i]));
}

static void scale(struct ops *ops, void *x, double factor, size_t count)
{
    const real by = (real)factor;
    elem      *e = x;
    size_t     i;

    (void)ops;
#pragma omp parallel for simd schedule(static) if (parallel : count > WORTH_THREADS)
    for (i = 0; i < count; i++)
        store(&e[i], load(&e[i]) * by);
}

/* Adds the sum of all rows to dbias, in the order of the rows. */
static void bias_backward(struct ops *ops, void *dbias, const void *dout, int rows, int width,
                          int row)
{
    elem *db = dbias;
    int   first;

    (void)ops;
    if (dbias == NULL)
        return;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (first = 0; first < width; first += COLUMNS) {
        const int columns = width - first < COLUMNS ? width - first : COLUMNS;
        real      sum[COLUMNS] = { 0 };
        int       i, j;

        for (i = 0; i < rows; i++) {
            const elem *d = row_of(dout, i, row) + first;

#pragma omp simd
            for (j = 0; j < columns; j++)
                sum[j] += load(&d[j]);
        }
        for (j = 0; j < columns; j++)
            store(&db[first + j], load(&db[first + j]) + sum[j]);
    }
}

static void embed(struct ops *ops, void *out, const int32_t *tokens, const void *words,
                  const void *positions, const void *type, int rows, int length, int width)
{
    const elem *t = type;
    int         i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < rows; i++) {
        const elem *word = row_of(words, tokens[i], width);
        const elem *position = positions != NULL ? row_of(positions, i % length, width) : NULL;
        elem       *o = out_row(out, i, width);
        int         j;

        if (position == NULL && t == NULL) {
            memcpy(o, word, (size_t)width * sizeof *o);
            continue;
        }
        for (j = 0; j < width; j++)
            store(&o[j], load(&word[j]) + (position != NULL ? load(&position[j]) : 0) +
                             (t != NULL ? load(&t[j]) : 0));
    }
}

/* Adds the gradients of count rows to d; rounds only their sum. */
static void add_rows(elem *d, const void *dout, const int32_t *rows, int count, int width)
{
    int first, i, j;

    for (first = 0; first < width; first += COLUMNS) {
        const int columns = width - first < COLUMNS ? width - first : COLUMNS;
        real      sum[COLUMNS] = { 0 };

        for (i = 0; i < count; i++) {
            const elem *x = row_of(dout, rows[i], width) + first;

#pragma omp simd
            for (j = 0; j < columns; j++)
                sum[j] += load(&x[j]);
        }
        for (j = 0; j < columns; j++)
            store(&d[first + j], load(&d[first + j]) + sum[j]);
    }
}

/* One thread sums all rows of the same token. */
static void embed_backward(struct ops *ops, void *dwords, void *dpositions, const void *dout,
                           const int32_t *tokens, int rows, int length, int width)
{
    struct token_order order = token_order_make(tokens, rows);
    const int          times = rows / length;
    int                i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < (dwords != NULL ? order.count : 0); i++) {
        const int32_t *row = order.row + order.first[i];

        add_rows(out_row(dwords, tokens[*row], width), dout, row,
                 order.first[i + 1] - order.first[i], width);
    }
    for (i = 0; i < rows; i++) /* now sort the rows by position */
        order.row[i] = i / times + i % times * length;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < (dpositions != NULL ? length : 0); i++)
        add_rows(out_row(dpositions, i, width), dout, order.row + i * times, times, width);
    token_order_clear(&order);
}

/* Computes the mean of a vector, and 1 / its standard deviation. Not centered: the mean is 0. */
static void norm_stats(const elem *x, const struct norm *shape, real *stats)
{
    const int width = shape->width;
    real      sum = 0, squares = 0, mean = 0;
    int       j;

    if (shape->centered) {
#pragma omp simd reduction(+ : sum)
        for (j = 0; j < width; j++)
            sum += load(&x[j]);
        mean = sum / (real)width;
    }
#pragma omp simd reduction(+ : squares)
    for (j = 0; j < width; j++)
        squares += (load(&x[j]) - mean) * (load(&x[j]) - mean);
    stats[0] = mean;
    stats[1] = 1 / real_sqrt(squares / (real)width + (real)shape->epsilon);
}

static void norm_vector(elem *out, const elem *x, const elem *w, const elem *b, int width,
                        const real *stats)
{
    const real mean = stats[0], scale = stats[1];
    int        j;

    if (b == NULL) {
#pragma omp simd
        for (j = 0; j < width; j++)
            store(&out[j], (load(&x[j]) - mean) * scale * load(&w[j]));
        return;
    }
#pragma omp simd
    for (j = 0; j < width; j++)
        store(&out[j], (load(&x[j]) - mean) * scale * load(&w[j]) + load(&b[j]));
}

/* Returns where a vector is, in rows of this number of elements. */
static size_t vector_at(const struct norm *shape, int vector, int row)
{
    return (size_t)(vector / shape->each) * (size_t)row +
           (size_t)(vector % shape->each) * (size_t)shape->width;
}

static void norm(struct ops *ops, const struct norm *shape, void *sum, void *out, void *stats,
                 const void *x, const void *y, const void *weight, const void *bias)
{
    const int width = shape->width, vectors = shape->rows * shape->each;
    int       i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)vectors * width > WORTH_THREADS)
    for (i = 0; i < vectors; i++) {
        const elem *in = (const elem *)x + vector_at(shape, i, shape->x_row);
        real       *s = (real *)stats + 2 * (size_t)i;
        int         j;

        if (y != NULL) {
            const elem *more = row_of(y, i, width);
            elem       *total = out_row(sum, i, width);

#pragma omp simd
            for (j = 0; j < width; j++)
                store(&total[j], load(&in[j]) + load(&more[j]));
            in = total;
        }
        norm_stats(in, shape, s);
        norm_vector((elem *)out + vector_at(shape, i, shape->out_row), in, weight, bias, width, s);
    }
}

static void norm_dx(const elem *dout, const elem *x, const elem *w, const real *stats,
                    const elem *more, elem *dx, const struct norm *shape)
{
    const real mean = stats[0], scale = stats[1];
    const int  width = shape->width;
    real       sum = 0, dot = 0;
    int        j;

#pragma omp simd reduction(+ : sum, dot)
    for (j = 0; j < width; j++) {
        const real d = load(&dout[j]) * load(&w[j]);

        sum += d;
        dot += d * (load(&x[j]) - mean) * scale;
    }
    sum = shape->centered ? sum / (real)width : 0;
    dot /= (real)width;
    if (more == NULL) {
#pragma omp simd
        for (j = 0; j < width; j++)
            store(&dx[j], (load(&dout[j]) * load(&w[j]) - sum -
                           (load(&x[j]) - mean) * scale * dot) * scale);
        return;
    }
#pragma omp simd
    for (j = 0; j < width; j++)
        store(&dx[j], load(&more[j]) + (load(&dout[j]) * load(&w[j]) - sum -
                                        (load(&x[j]) - mean) * scale * dot) * scale);
}

/* Adds the gradients of weight and bias, for COLUMNS columns from first on. */
static void norm_dweight(const struct norm *shape, elem *dweight, elem *dbias, const elem *dout,
                         const elem *x, const real *stats, int first)
{
    const int columns = shape->width - first < COLUMNS ? shape->width - first : COLUMNS;
    real      dw[COLUMNS] = { 0 }, db[COLUMNS] = { 0 };
    int       i, j;

    for (i = 0; i < shape->rows * shape->each; i++) {
        const elem *d = dout + vector_at(shape, i, shape->out_row) + first;
        const elem *in = x + vector_at(shape, i, shape->x_row) + first;
        const real  mean = stats[2 * (size_t)i], scale = stats[2 * (size_t)i + 1];

#pragma omp simd
        for (j = 0; j < columns; j++) {
            dw[j] += load(&d[j]) * (load(&in[j]) - mean) * scale;
            db[j] += load(&d[j]);
        }
    }
    for (j = 0; j < columns && dweight != NULL; j++)
        store(&dweight[first + j], load(&dweight[first + j]) + dw[j]);
    for (j = 0; j < columns && dbias != NULL; j++)
        store(&dbias[first + j], load(&dbias[first + j]) + db[j]);
}

static void norm_backward(struct ops *ops, const struct norm *shape, void *dx, void *dweight,
                          void *dbias, const void *dout, const void *x, const void *weight,
                          const void *stats, const void *more)
{
    const int width = shape->width, vectors = shape->rows * shape->each;
    int       i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)vectors * width > WORTH_THREADS)
    for (i = 0; i < (dweight != NULL || dbias != NULL ? width : 0); i += COLUMNS)
        norm_dweight(shape, dweight, dbias, dout, x, stats, i);
    /* Must come after the gradients of the weights, because dx may be dout. */
#pragma omp parallel for schedule(static) if ((long)vectors * width > WORTH_THREADS)
    for (i = 0; i < vectors; i++) {
        const size_t at = vector_at(shape, i, shape->out_row);

        norm_dx((const elem *)dout + at, (const elem *)x + vector_at(shape, i, shape->x_row),
                weight, (const real *)stats + 2 * (size_t)i,
                more != NULL ? (const elem *)more + at : NULL, (elem *)dx + at, shape);
    }
}

static void rotate(struct ops *ops, const struct rotary *shape, void *x, const void *table)
{
    const int half = shape->head_width / 2;
    int       i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)shape->rows * shape->row > WORTH_THREADS)
    for (i = 0; i < shape->rows; i++) {
        const real *turn = (const real *)table + (size_t)(i % shape->length) * (size_t)half * 2;
        int         head, j;

        for (head = 0; head < shape->heads; head++) {
            elem *a = out_row(x, i, shape->row) + head * shape->head_width, *b = a + half;

#pragma omp simd
            for (j = 0; j < half; j++) {
                const real left = load(&a[j]), right = load(&b[j]), cosine = turn[2 * j];
                const real sine = shape->back ? -turn[2 * j + 1] : turn[2 * j + 1];

                store(&a[j], left * cosine - right * sine);
                store(&b[j], right * cosine + left * sine);
            }
        }
    }
}

static void gelu(struct ops *ops, enum gelu kind, void *out, const void *x, size_t count)
{
    const elem *in = x;
    elem       *o = out;
    size_t      i;

    (void)ops;
    if (kind == GELU_TANH) {
#pragma omp parallel for simd schedule(static) if (parallel : count > WORTH_THREADS)
        for (i = 0; i < count; i++)
            store(&o[i], gelu_tanh(load(&in[i])));
        return;
    }
#pragma omp parallel for simd schedule(static) if (parallel : count > WORTH_THREADS)
    for (i = 0; i < count; i++)
        store(&o[i], gelu_erf(load(&in[i])));
}

static void gelu_backward(struct ops *ops, enum gelu kind, void *dx, const void *dout,
                          const void *x, size_t count)
{
    const elem *in = x, *d = dout;
    elem       *o = dx;
    size_t      i;

    (void)ops;
    if (kind == GELU_TANH) {
#pragma omp parallel for simd schedule(static) if (parallel : count > WORTH_THREADS)
        for (i = 0; i < count; i++)
            store(&o[i], load(&d[i]) * gelu_tanh_slope(load(&in[i])));
        return;
    }
#pragma omp parallel for simd schedule(static) if (parallel : count > WORTH_THREADS)
    for (i = 0; i < count; i++)
        store(&o[i], load(&d[i]) * gelu_erf_slope(load(&in[i])));
}

static void swiglu(struct ops *ops, void *out, const void *x, int rows, int width)
{
    int i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < rows; i++) {
        const elem *gate = row_of(x, i, 2 * width), *value = gate + width;
        elem       *o = out_row(out, i, width);
        int         j;

#pragma omp simd
        for (j = 0; j < width; j++)
            store(&o[j], load(&gate[j]) / (1 + real_exp(-load(&gate[j]))) * load(&value[j]));
    }
}

static void swiglu_backward(struct ops *ops, void *dx, const void *dout, const void *x, int rows,
                            int width)
{
    int i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < rows; i++) {
        const elem *gate = row_of(x, i, 2 * width), *value = gate + width;
        const elem *d = row_of(dout, i, width);
        elem       *dgate = out_row(dx, i, 2 * width), *dvalue = dgate + width;
        int         j;

#pragma omp simd
        for (j = 0; j < width; j++) {
            const real g = load(&gate[j]), v = load(&value[j]), s = 1 / (1 + real_exp(-g));

            store(&dgate[j], load(&d[j]) * v * s * (1 + g * (1 - s)));
            store(&dvalue[j], load(&d[j]) * g * s);
        }
    }
}

/* Counters processed at once, as a vector. Each counter gives the words of four elements. */
#define COUNTERS 16
#define WORDS    (4 * COUNTERS)

/* Computes the words of the elements from 4 * four on. */
static inline void draw_words(const struct dropout *drop, int sequence, size_t four,
                              uint32_t word[WORDS])
{
    size_t i;

#pragma omp simd
    for (i = 0; i < COUNTERS; i++) {
        const struct philox random = dropout_words(drop, sequence, four + i);

        word[4 * i] = random.word[0];
        word[4 * i + 1] = random.word[1];
        word[4 * i + 2] = random.word[2];
        word[4 * i + 3] = random.word[3];
    }
}

static void drop_some(const struct dropout *drop, elem *out, const elem *x, int sequence,
                      size_t four, size_t count)
{
    const uint32_t limit = dropout_limit(drop);
    const real     factor = 1 / (1 - (real)drop->rate);
    uint32_t       word[WORDS];
    size_t         i;

    draw_words(drop, sequence, four, word);
#pragma omp simd
    for (i = 0; i < count; i++)
        store(&out[i], word[i] < limit ? 0 : load(&x[i]) * factor);
}

static void dropout(struct ops *ops, const struct dropout *drop, void *out, const void *x,
                    int sequences, size_t each)
{
    const size_t some = WORDS, parts = (each + some - 1) / some;
    const size_t total = (size_t)sequences * parts;
    size_t       i;

    (void)ops;
#pragma omp parallel for schedule(static) if (total > WORTH_THREADS / some)
    for (i = 0; i < total; i++) {
        const size_t sequence = i / parts, first = i % parts * some;
        const size_t at = sequence * each + first;

        drop_some(drop, (elem *)out + at, (const elem *)x + at, (int)sequence, first / 4,
                  each - first < some ? each - first : some);
    }
}

/* Returns the maximum, or NaN if an element is NaN: the comparison itself ignores NaN. */
static real row_max(const elem *x, int count)
{
    real max = -INFINITY, odd = 0;
    int  j;

#pragma omp simd reduction(max : max) reduction(+ : odd)
    for (j = 0; j < count; j++) {
        const real v = load(&x[j]);

        max = v > max ? v : max;
        odd += v != v ? (real)1 : (real)0;
    }
    return odd > 0 ? (real)NAN : max;
}

/* Sets stats[i] to the logarithm of the sum of the row's exponentials. */
static double cross_entropy(struct ops *ops, void *stats, const void *logits,
                            const int32_t *targets, int rows, int width)
{
    real  *lse = stats;
    double sum = 0;
    int    i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < rows; i++) {
        const elem *x = row_of(logits, i, width);
        const real  max = row_max(x, width);
        real        total = 0;
        int         j;

#pragma omp simd reduction(+ : total)
        for (j = 0; j < width; j++)
            total += real_exp(load(&x[j]) - max);
        lse[i] = max + real_log(total);
    }
    for (i = 0; i < rows; i++)
        sum += (double)lse[i] - (double)load(row_of(logits, i, width) + targets[i]);
    return sum;
}

static void cross_entropy_backward(struct ops *ops, void *logits, const void *stats,
                                   const int32_t *targets, double scale, int rows, int width)
{
    const real *lse = stats, factor = (real)scale;
    int         i;

    (void)ops;
#pragma omp parallel for schedule(static) if ((long)rows * width > WORTH_THREADS)
    for (i = 0; i < rows; i++) {
        elem      *x = out_row(logits, i, width);
        const real chosen = load(&x[targets[i]]);
        int        j;

#pragma omp simd
        for (j = 0; j < width; j++)
            store(&x[j], real_exp(load(&x[j]) - lse[i]) * factor);
        store(&x[targets[i]], (real_exp(chosen - lse[i]) - 1) * factor);
    }
}

static void gather(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                   int width)
{
    int i;

    (void)ops;
    for (i = 0; i < rows; i++)
        memcpy(out_row(out, i, width), row_of(x, index[i], width), (size_t)width * sizeof(elem));
}

static void scatter(struct ops *ops, void *out, const void *x, const int32_t *index, int rows,
                    int width)
{
    int i;

    (void)ops;
    for (i = 0; i < rows; i++)
        memcpy(out_row(out, index[i], width), row_of(x, i, width), (size_t)width * sizeof(elem));
}

#include "model/cpu/attention_template.h"
#include "model/cpu/dequantize_template.h"

const struct ops TABLE = {
    .type = ELEM_TYPE,
    .stat_size = sizeof(real),
    .zero = zero,
    .bias_backward = bias_backward,
    .embed = embed,
    .embed_backward = embed_backward,
    .norm = norm,
    .norm_backward = norm_backward,
    .rotate = rotate,
    .add = add,
    .scale = scale,
    .gelu = gelu,
    .gelu_backward = gelu_backward,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .dequantize = dequantize,
    .dropout = dropout,
    .attention_bytes = attention_bytes,
    .attention = attention,
    .attention_backward = attention_backward,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
    .gather = gather,
    .scatter = scatter,
};
