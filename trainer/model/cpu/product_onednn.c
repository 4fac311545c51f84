/* product_onednn.c - see product.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/cpu/product.h"

#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "xalloc.h"

#define DIMS 4 /* two batch indices, row, column */

/* The descriptions of a, b, bias and c, and the primitive that multiplies them. */
struct product {
    struct matmul        shape;
    bool                 biased;
    dnnl_memory_t        memory[4];
    dnnl_primitive_t     primitive;
};

struct products {
    dnnl_data_type_t type;
    dnnl_engine_t    engine;
    dnnl_stream_t    stream;
    struct product   product[PRODUCTS_MAX];
    int              count, oldest;
};

enum { A, B, BIAS, C };

static bool            has_bfloat16(struct products *products);
static struct product *find(struct products *products, const struct matmul *shape, bool biased);
static bool            is_same(const struct matmul *x, const struct matmul *y);
static struct product *prepare(struct products *products, const struct matmul *shape,
                               bool biased, struct error *err);
static int             make(struct products *products, struct product *product,
                            struct error *err);
static void            clear(struct product *product);
static int             describe(const struct product *product, int which, dnnl_dims_t dims,
                                dnnl_dims_t strides);
static int             failed(struct error *err, const char *what, dnnl_status_t status);

struct products *products_new(enum dtype type, struct error *err)
{
    struct products *products = xcalloc(1, sizeof *products);
    dnnl_status_t    status;

    status = dnnl_engine_create(&products->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&products->stream, products->engine,
                                    dnnl_stream_default_flags);
    if (status != dnnl_success) {
        products_free(products);
        failed(err, "no CPU engine", status);
        return NULL;
    }
    products->type = type == DTYPE_BFLOAT16 && has_bfloat16(products) ? dnnl_bf16 : dnnl_f32;
    return products;
}

/* oneDNN does not support bfloat16 on every CPU, so try to prepare a product. */
static bool has_bfloat16(struct products *products)
{
    static const struct matmul one = { .batch = { 1, 1 }, .m = 1, .n = 1, .k = 1, .lda = 1,
                                       .ldb = 1, .ldc = 1 };
    struct product             product = { .shape = one };
    bool                       has;

    products->type = dnnl_bf16;
    has = make(products, &product, NULL) == 0;
    clear(&product);
    return has;
}

enum dtype products_type(const struct products *products)
{
    return products->type == dnnl_bf16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT;
}

void products_free(struct products *products)
{
    int i;

    if (products == NULL)
        return;
    for (i = 0; i < products->count; i++)
        clear(&products->product[i]);
    if (products->stream != NULL)
        dnnl_stream_destroy(products->stream);
    if (products->engine != NULL)
        dnnl_engine_destroy(products->engine);
    free(products);
}

int product_run(struct products *products, const struct matmul *shape, const void *a,
                const void *b, const void *bias, void *c, struct error *err)
{
    const void     *data[4] = { [A] = a, [B] = b, [BIAS] = bias, [C] = c };
    const int       names[4] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST };
    struct product *product = find(products, shape, bias != NULL);
    dnnl_exec_arg_t args[4];
    dnnl_status_t   status;
    int             i, count = 0;

    if (product == NULL)
        product = prepare(products, shape, bias != NULL, err);
    if (product == NULL)
        return -1;
    for (i = A; i <= C; i++) {
        if (data[i] == NULL)
            continue;
        dnnl_memory_set_data_handle(product->memory[i], (void *)data[i]);
        args[count++] = (dnnl_exec_arg_t){ names[i], product->memory[i] };
    }
    status = dnnl_primitive_execute(product->primitive, products->stream, count, args);
    if (status == dnnl_success)
        status = dnnl_stream_wait(products->stream);
    return status == dnnl_success ? 0 : failed(err, "a matrix product failed", status);
}

static struct product *find(struct products *products, const struct matmul *shape, bool biased)
{
    int i;

    for (i = 0; i < products->count; i++) {
        struct product *product = &products->product[i];

        if (product->biased == biased && is_same(&product->shape, shape))
            return product;
    }
    return NULL;
}

static bool is_same(const struct matmul *x, const struct matmul *y)
{
    int i;

    for (i = 0; i < 2; i++)
        if (x->batch[i] != y->batch[i] || x->sa[i] != y->sa[i] || x->sb[i] != y->sb[i] ||
            x->sc[i] != y->sc[i])
            return false;
    return x->m == y->m && x->n == y->n && x->k == y->k && x->at == y->at && x->bt == y->bt &&
           x->add == y->add && x->lda == y->lda && x->ldb == y->ldb && x->ldc == y->ldc;
}

static struct product *prepare(struct products *products, const struct matmul *shape,
                               bool biased, struct error *err)
{
    struct product *product = &products->product[products->oldest];

    if (products->count < PRODUCTS_MAX)
        product = &products->product[products->count];
    else
        products->oldest = (products->oldest + 1) % PRODUCTS_MAX;
    clear(product);
    product->shape = *shape;
    product->biased = biased;
    if (make(products, product, err) < 0) {
        clear(product);
        return NULL;
    }
    if (products->count < PRODUCTS_MAX)
        products->count++;
    return product;
}

static void clear(struct product *product)
{
    int i;

    for (i = A; i <= C; i++)
        if (product->memory[i] != NULL)
            dnnl_memory_destroy(product->memory[i]);
    if (product->primitive != NULL)
        dnnl_primitive_destroy(product->primitive);
    memset(product, 0, sizeof *product);
}

/* Fills in the sizes and strides of one of the four for oneDNN: the dimensions are those of the
 * product, and a transpose only changes the strides. Without batches, uses only the last two
 * dimensions. Returns the number of dimensions. */
static int describe(const struct product *product, int which, dnnl_dims_t dims,
                    dnnl_dims_t strides)
{
    const struct matmul *s = &product->shape;
    const bool           flat = s->batch[0] == 1 && s->batch[1] == 1;
    const int rows[4] = { [A] = s->m, [B] = s->k, [BIAS] = 1, [C] = s->m };
    const int columns[4] = { [A] = s->k, [B] = s->n, [BIAS] = s->n, [C] = s->n };
    const int ld[4] = { [A] = s->lda, [B] = s->ldb, [BIAS] = s->n, [C] = s->ldc };
    const long *const batch[4] = { [A] = s->sa, [B] = s->sb, [C] = s->sc };
    const bool       turned = (which == A && s->at) || (which == B && s->bt);
    int              n = 0, i;

    for (i = 0; i < 2 && !flat; i++) {
        dims[n] = which == BIAS ? 1 : s->batch[i];
        strides[n++] = which == BIAS ? s->n : batch[which][i];
    }
    dims[n] = rows[which];
    strides[n++] = turned ? 1 : ld[which];
    dims[n] = columns[which];
    strides[n++] = turned ? ld[which] : 1;
    return n;
}

#if DNNL_VERSION_MAJOR >= 3

static int make(struct products *products, struct product *product, struct error *err)
{
    dnnl_memory_desc_t    desc[4] = { NULL };
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t       post_ops = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t         status = dnnl_success;
    dnnl_dims_t           dims, strides;
    int                   i, n;

    for (i = A; i <= C && status == dnnl_success; i++) {
        if (i == BIAS && !product->biased)
            continue;
        n = describe(product, i, dims, strides);
        status = dnnl_memory_desc_create_with_strides(&desc[i], n, dims, products->type, strides);
        if (status == dnnl_success)
            status = dnnl_memory_create(&product->memory[i], desc[i], products->engine,
                                        DNNL_MEMORY_NONE);
    }
    if (status == dnnl_success && product->shape.add) {
        status = dnnl_primitive_attr_create(&attr);
        if (status == dnnl_success)
            status = dnnl_post_ops_create(&post_ops);
        if (status == dnnl_success)
            status = dnnl_post_ops_append_sum(post_ops, 1, 0, dnnl_data_type_undef);
        if (status == dnnl_success)
            status = dnnl_primitive_attr_set_post_ops(attr, post_ops);
    }
    if (status == dnnl_success)
        status = dnnl_matmul_primitive_desc_create(&pd, products->engine, desc[A], desc[B],
                                                   desc[BIAS], desc[C], attr);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&product->primitive, pd);
    for (i = A; i <= C; i++)
        dnnl_memory_desc_destroy(desc[i]);
    dnnl_post_ops_destroy(post_ops);
    dnnl_primitive_attr_destroy(attr);
    dnnl_primitive_desc_destroy(pd);
    return status == dnnl_success ? 0 : failed(err, "no matrix product of this shape", status);
}

#else

static int make(struct products *products, struct product *product, struct error *err)
{
    dnnl_memory_desc_t    desc[4];
    dnnl_matmul_desc_t    matmul;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t       post_ops = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t         status = dnnl_success;
    dnnl_dims_t           dims = { 0 }, strides = { 0 };
    int                   i, n;

    for (i = A; i <= C && status == dnnl_success; i++) {
        if (i == BIAS && !product->biased)
            continue;
        n = describe(product, i, dims, strides);
        status = dnnl_memory_desc_init_by_strides(&desc[i], n, dims, products->type, strides);
        if (status == dnnl_success)
            status = dnnl_memory_create(&product->memory[i], &desc[i], products->engine,
                                        DNNL_MEMORY_NONE);
    }
    if (status == dnnl_success && product->shape.add) {
        status = dnnl_primitive_attr_create(&attr);
        if (status == dnnl_success)
            status = dnnl_post_ops_create(&post_ops);
        if (status == dnnl_success)
            status = dnnl_post_ops_append_sum(post_ops, 1);
        if (status == dnnl_success)
            status = dnnl_primitive_attr_set_post_ops(attr, post_ops);
    }
    if (status == dnnl_success)
        status = dnnl_matmul_desc_init(&matmul, &desc[A], &desc[B],
                                       product->biased ? &desc[BIAS] : NULL, &desc[C]);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&pd, &matmul, attr, products->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&product->primitive, pd);
    dnnl_post_ops_destroy(post_ops);
    dnnl_primitive_attr_destroy(attr);
    dnnl_primitive_desc_destroy(pd);
    return status == dnnl_success ? 0 : failed(err, "no matrix product of this shape", status);
}

#endif

static int failed(struct error *err, const char *what, dnnl_status_t status)
{
    return err_set(err, "oneDNN: %s (status %d)", what, (int)status);
}
