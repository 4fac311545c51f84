/* product.cu - see product.h
 *
 * cuBLASLt's matrices are column-major, so it sees a row-major matrix as its transpose. So
 * c = a b is computed as its transpose, b' a'.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/product.h"

#include <stdlib.h>

#include <cublasLt.h>

extern "C" {
#include "xalloc.h"
}

#define WORKSPACE ((size_t)32 << 20) /* bytes; Hopper's fastest products need this */

struct prepared {
    struct matmul          shape;
    bool                   has_bias;
    unsigned               alignment; /* of all pointers, in bytes */
    cublasLtMatmulDesc_t   product;
    cublasLtMatrixLayout_t a, b, c; /* of a, b and c, not swapped */
    cublasLtMatmulAlgo_t   algorithm;
};

struct products_cuda {
    struct stream    *stream;
    cudaDataType_t    type;
    size_t            element;
    cublasLtHandle_t  handle;
    void             *workspace;
    struct prepared  *prepared[PRODUCTS_CUDA_MAX];
    unsigned          made; /* so far; the next one's index is made % PRODUCTS_CUDA_MAX */
};

static struct prepared *prepare(struct products_cuda *products, const struct matmul *shape,
                                const void *bias, unsigned alignment);
static bool same_shape(const struct matmul *x, const struct matmul *y);
static bool make(struct products_cuda *products, struct prepared *p);
static bool set_bias(struct products_cuda *products, struct prepared *p, const void *bias);
static bool choose(struct products_cuda *products, struct prepared *p);
static cublasLtMatrixLayout_t layout(struct products_cuda *products, int rows, int columns,
                                     int row, int batch, long stride);
static void     drop(struct prepared *p);
static unsigned alignment_of(const void *a, const void *b, const void *c);
static bool     keep(struct products_cuda *products, cublasStatus_t status);

struct products_cuda *products_cuda_new(struct stream *stream, enum dtype type)
{
    struct products_cuda *products = (struct products_cuda *)xcalloc(1, sizeof *products);

    products->stream = stream;
    products->type = type == DTYPE_FLOAT  ? CUDA_R_32F
                     : type == DTYPE_HALF ? CUDA_R_16F
                                          : CUDA_R_16BF;
    products->element = dtype_size(type);
    if (keep(products, cublasLtCreate(&products->handle)))
        products->workspace = stream_alloc(stream, WORKSPACE);
    return products;
}

void products_cuda_free(struct products_cuda *products)
{
    int i;

    for (i = 0; i < PRODUCTS_CUDA_MAX; i++)
        if (products->prepared[i] != NULL)
            drop(products->prepared[i]);
    cudaFree(products->workspace);
    if (products->handle != NULL)
        cublasLtDestroy(products->handle);
    free(products);
}

/* The outer batch is a loop, because no product of a model needs it to be fast. */
void product_cuda(struct products_cuda *products, const struct matmul *shape, const void *a,
                  const void *b, const void *bias, void *c)
{
    const float      one = 1, beta = shape->add ? 1 : 0;
    const char      *from_a = (const char *)a, *from_b = (const char *)b;
    const bool       is_single = shape->batch[0] == 1 && shape->batch[1] == 1;
    char            *to = (char *)c;
    struct prepared *p;
    size_t           i;

    if (products->stream->failed)
        return;
    p = prepare(products, shape, bias,
                is_single ? alignment_of(a, b, c) : (unsigned)products->element);
    if (p == NULL)
        return;
    if (!set_bias(products, p, bias))
        return;
    for (i = 0; i < (size_t)shape->batch[0]; i++)
        if (!keep(products,
                  cublasLtMatmul(products->handle, p->product, &one,
                                 from_b + i * (size_t)shape->sb[0] * products->element, p->b,
                                 from_a + i * (size_t)shape->sa[0] * products->element, p->a,
                                 &beta, to + i * (size_t)shape->sc[0] * products->element, p->c,
                                 to + i * (size_t)shape->sc[0] * products->element, p->c,
                                 &p->algorithm, products->workspace, WORKSPACE,
                                 products->stream->cuda)))
            return;
}

static struct prepared *prepare(struct products_cuda *products, const struct matmul *shape,
                                const void *bias, unsigned alignment)
{
    struct prepared **place, *p;
    int               i;

    for (i = 0; i < PRODUCTS_CUDA_MAX && products->prepared[i] != NULL; i++) {
        p = products->prepared[i];
        if (p->has_bias == (bias != NULL) && p->alignment == alignment &&
            same_shape(&p->shape, shape))
            return p;
    }
    p = (struct prepared *)xcalloc(1, sizeof *p);
    p->shape = *shape;
    p->has_bias = bias != NULL;
    p->alignment = alignment;
    if (!make(products, p) || !set_bias(products, p, bias) || !choose(products, p)) {
        drop(p);
        return NULL;
    }
    place = &products->prepared[products->made++ % PRODUCTS_CUDA_MAX];
    if (*place != NULL)
        drop(*place);
    return *place = p;
}

/* Ignores the outer batch, which the caller loops over. */
static bool same_shape(const struct matmul *x, const struct matmul *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && !x->at == !y->at &&
           !x->bt == !y->bt && x->lda == y->lda && x->ldb == y->ldb && x->ldc == y->ldc &&
           x->batch[1] == y->batch[1] &&
           (x->batch[1] == 1 ||
            (x->sa[1] == y->sa[1] && x->sb[1] == y->sb[1] && x->sc[1] == y->sc[1]));
}

static bool make(struct products_cuda *products, struct prepared *p)
{
    const struct matmul      *s = &p->shape;
    const cublasOperation_t   of_a = s->at ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t   of_b = s->bt ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t  epilogue = p->has_bias ? CUBLASLT_EPILOGUE_BIAS
                                                     : CUBLASLT_EPILOGUE_DEFAULT;

    if (!keep(products, cublasLtMatmulDescCreate(&p->product, CUBLAS_COMPUTE_32F, CUDA_R_32F)) ||
        !keep(products, cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSA,
                                                       &of_b, sizeof of_b)) ||
        !keep(products, cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSB,
                                                       &of_a, sizeof of_a)) ||
        !keep(products, cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                                       &epilogue, sizeof epilogue)))
        return false;
    p->a = layout(products, s->at ? s->k : s->m, s->at ? s->m : s->k, s->lda, s->batch[1],
                  s->sa[1]);
    p->b = layout(products, s->bt ? s->n : s->k, s->bt ? s->k : s->n, s->ldb, s->batch[1],
                  s->sb[1]);
    p->c = layout(products, s->m, s->n, s->ldc, s->batch[1], s->sc[1]);
    return !products->stream->failed;
}

/* Describes a row-major matrix to cuBLASLt as columns x rows. row: elements between two
 * rows. */
static cublasLtMatrixLayout_t layout(struct products_cuda *products, int rows, int columns,
                                     int row, int batch, long stride)
{
    const int64_t          elements = stride;
    cublasLtMatrixLayout_t made = NULL;

    if (!keep(products, cublasLtMatrixLayoutCreate(&made, products->type, (uint64_t)columns,
                                                   (uint64_t)rows, row)) ||
        batch == 1)
        return made;
    if (keep(products, cublasLtMatrixLayoutSetAttribute(
                           made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch)))
        keep(products, cublasLtMatrixLayoutSetAttribute(
                           made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &elements,
                           sizeof elements));
    return made;
}

/* Must also be called before choose(), because the choice depends on whether there is a
 * bias. */
static bool set_bias(struct products_cuda *products, struct prepared *p, const void *bias)
{
    return bias == NULL ||
           keep(products, cublasLtMatmulDescSetAttribute(
                              p->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
}

static bool choose(struct products_cuda *products, struct prepared *p)
{
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    };
    const size_t                    workspace = WORKSPACE;
    const uint32_t                  alignment = p->alignment;
    cublasLtMatmulPreference_t      wish;
    cublasLtMatmulHeuristicResult_t found = {};
    int                             count = 0;
    bool                            ok;

    if (!keep(products, cublasLtMatmulPreferenceCreate(&wish)))
        return false;
    ok = keep(products, cublasLtMatmulPreferenceSetAttribute(
                            wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                            sizeof workspace));
    for (const cublasLtMatmulPreferenceAttributes_t &which : alignments)
        ok = ok && keep(products, cublasLtMatmulPreferenceSetAttribute(wish, which, &alignment,
                                                                       sizeof alignment));
    ok = ok && keep(products, cublasLtMatmulAlgoGetHeuristic(products->handle, p->product, p->b,
                                                             p->a, p->c, p->c, wish, 1, &found,
                                                             &count));
    cublasLtMatmulPreferenceDestroy(wish);
    if (ok && count == 0)
        ok = keep(products, CUBLAS_STATUS_NOT_SUPPORTED);
    p->algorithm = found.algo;
    return ok;
}

static void drop(struct prepared *p)
{
    if (p->product != NULL)
        cublasLtMatmulDescDestroy(p->product);
    if (p->a != NULL)
        cublasLtMatrixLayoutDestroy(p->a);
    if (p->b != NULL)
        cublasLtMatrixLayoutDestroy(p->b);
    if (p->c != NULL)
        cublasLtMatrixLayoutDestroy(p->c);
    free(p);
}

/* Returns the largest power of two that divides all pointers, at most 256, the alignment of
 * cudaMalloc. */
static unsigned alignment_of(const void *a, const void *b, const void *c)
{
    const uintptr_t bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | 256;

    return (unsigned)(bits & -bits);
}

static bool keep(struct products_cuda *products, cublasStatus_t status)
{
    struct stream *stream = products->stream;

    if (status != CUBLAS_STATUS_SUCCESS && !stream->failed) {
        stream->failed = true;
        err_set(&stream->why, "cuBLASLt: status %d", (int)status);
    }
    return !stream->failed;
}
