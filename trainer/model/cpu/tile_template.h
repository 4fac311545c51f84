/* tile_template.h - tiles of matrices in fast memory, and their products, for attention
 *
 * A tile's rows are real numbers, as many as whole vectors of this CPU have. Included by
 * attention_template.h, which has elem, real, load() and store() from kernels_template.h.
 * SPDX-License-Identifier: Apache-2.0
 */

/* Rows and columns of a square tile: a multiple of LANES and of BLOCK. */
#define TILE  64
#define BLOCK 4 /* rows whose sums are in registers at once */

#ifdef __AVX512F__
#define VECTOR_BYTES 64
#define VECTORS      4 /* of each of these rows: so many sums hide the latency of additions */
#elif defined __AVX__
#define VECTOR_BYTES 32
#define VECTORS      2
#else
#define VECTOR_BYTES 16
#define VECTORS      2
#endif
#define LANES ((int)(VECTOR_BYTES / sizeof(real)))

typedef real vector __attribute__((vector_size(VECTOR_BYTES), may_alias));

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* a: element i, j is at a[i * row + j * step], so that it may be a transpose. */
struct left {
    const real *a;
    int         row, step;
};

static int round_up(int count, int whole)
{
    return (count + whole - 1) / whole * whole;
}

/* c (+)= a b, for BLOCK rows and a constant number of vectors. */
static inline __attribute__((always_inline)) void
multiply_block(real *c, int c_row, struct left a, const real *b, int b_row, int depth, bool add,
               const int vectors)
{
    vector sum[BLOCK][VECTORS];
    int    i, j, k;

    UNROLL
    for (i = 0; i < BLOCK; i++) {
        UNROLL
        for (j = 0; j < vectors; j++)
            sum[i][j] = add ? *(vector *)&c[i * c_row + j * LANES] : (vector){ 0 };
    }
    for (k = 0; k < depth; k++) {
        vector right[VECTORS];

        UNROLL
        for (j = 0; j < vectors; j++)
            right[j] = *(const vector *)&b[j * LANES];
        UNROLL
        for (i = 0; i < BLOCK; i++) {
            UNROLL
            for (j = 0; j < vectors; j++)
                sum[i][j] += a.a[i * a.row] * right[j];
        }
        a.a += a.step;
        b += b_row;
    }
    UNROLL
    for (i = 0; i < BLOCK; i++) {
        UNROLL
        for (j = 0; j < vectors; j++)
            *(vector *)&c[i * c_row + j * LANES] = sum[i][j];
    }
}

static void multiply_some(real *c, int c_row, struct left a, const real *b, int b_row, int depth,
                          bool add, int vectors)
{
    if (vectors >= VECTORS)
        multiply_block(c, c_row, a, b, b_row, depth, add, VECTORS);
    else if (vectors == 1)
        multiply_block(c, c_row, a, b, b_row, depth, add, 1);
#if VECTORS > 2
    else if (vectors == 2)
        multiply_block(c, c_row, a, b, b_row, depth, add, 2);
    else
        multiply_block(c, c_row, a, b, b_row, depth, add, 3);
#endif
}

/* c = a b, or c += a b. Computes rows and columns up to whole blocks, whose additional elements
 * must be there in a, b and c. */
static void multiply(real *c, int c_row, struct left a, const real *b, int b_row, int rows,
                     int columns, int depth, bool add)
{
    int i, j;

    for (j = 0; j < columns; j += VECTORS * LANES)
        for (i = 0; i < rows; i += BLOCK)
            multiply_some(c + i * c_row + j, c_row,
                          (struct left){ a.a + i * a.row, a.row, a.step }, b + j, b_row, depth,
                          add, round_up(columns - j, LANES) / LANES);
}

/* Copies count rows of width elements to a tile. Elements up to whole blocks become 0. */
static void fetch(real *tile, const elem *x, int row, int count, int width)
{
    const int pitch = round_up(width, LANES), rows = round_up(count, BLOCK);
    int       i, j;

    for (i = 0; i < count; i++) {
        const elem *from = x + (size_t)i * (size_t)row;
        real       *to = tile + i * pitch;

#pragma omp simd
        for (j = 0; j < width; j++)
            to[j] = load(&from[j]);
        for (j = width; j < pitch; j++)
            to[j] = 0;
    }
    memset(tile + count * pitch, 0, (size_t)((rows - count) * pitch) * sizeof *tile);
}

/* Copies count rows, times factor, to the columns of a tile whose rows have TILE numbers. */
static void fetch_turned(real *tile, const elem *x, int row, int count, int width, real factor)
{
    const int columns = round_up(count, LANES);
    int       i, j;

    for (j = 0; j < width; j++) {
        const elem *from = x + j;
        real       *to = tile + j * TILE;

        for (i = 0; i < count; i++)
            to[i] = load(&from[(size_t)i * (size_t)row]) * factor;
        for (i = count; i < columns; i++)
            to[i] = 0;
    }
}
