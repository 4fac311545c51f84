/* product.cc - products of matrices as cuBLASLt has them, by columns: see README
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cuda_on_cpu.h"

#include <stdint.h>
#include <string.h>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct cuda_on_cpu_handle {
    int nothing;
};

struct cuda_on_cpu_product {
    cublasOperation_t  turns[2]; /* of a, of b */
    cublasLtEpilogue_t epilogue;
    const void        *bias;
};

struct cuda_on_cpu_layout {
    cudaDataType_t type;
    uint64_t       rows, columns;
    int64_t        ld, stride;
    int32_t        batch;
};

struct cuda_on_cpu_preference {
    uint64_t workspace;
    uint32_t alignment;
};

/* All that a product needs, as it was when it was issued. */
struct job {
    struct cuda_on_cpu_product product;
    struct cuda_on_cpu_layout  a, b, d;
    const char                *from_a, *from_b;
    char                      *to;
    float                      alpha, beta;
};

static size_t size_of(cudaDataType_t type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

static float get(cudaDataType_t type, const void *array, int64_t i)
{
    if (type == CUDA_R_32F)
        return ((const float *)array)[i];
    if (type == CUDA_R_16F)
        return __half2float(((const __half *)array)[i]);
    return __bfloat162float(((const __nv_bfloat16 *)array)[i]);
}

static void put(cudaDataType_t type, void *array, int64_t i, float value)
{
    if (type == CUDA_R_32F)
        ((float *)array)[i] = value;
    else if (type == CUDA_R_16F)
        ((__half *)array)[i] = __float2half(value);
    else
        ((__nv_bfloat16 *)array)[i] = __float2bfloat16(value);
}

static void multiply(const struct job &j, int64_t batch)
{
    const size_t   size = size_of(j.d.type);
    const char    *a = j.from_a + batch * j.a.stride * (int64_t)size;
    const char    *b = j.from_b + batch * j.b.stride * (int64_t)size;
    char          *d = j.to + batch * j.d.stride * (int64_t)size;
    const bool     turn_a = j.product.turns[0] == CUBLAS_OP_T;
    const bool     turn_b = j.product.turns[1] == CUBLAS_OP_T;
    const uint64_t inner = turn_a ? j.a.rows : j.a.columns;
    uint64_t       row, column, k;

    for (column = 0; column < j.d.columns; column++)
        for (row = 0; row < j.d.rows; row++) {
            const int64_t at = (int64_t)(column * (uint64_t)j.d.ld + row);
            float         sum = 0;

            for (k = 0; k < inner; k++)
                sum += get(j.a.type, a, (int64_t)(turn_a ? row * (uint64_t)j.a.ld + k
                                                         : k * (uint64_t)j.a.ld + row)) *
                       get(j.b.type, b, (int64_t)(turn_b ? k * (uint64_t)j.b.ld + column
                                                         : column * (uint64_t)j.b.ld + k));
            sum *= j.alpha;
            if (j.beta != 0) /* else what was there does not count, even if it is no number */
                sum += j.beta * get(j.d.type, d, at);
            if (j.product.epilogue == CUBLASLT_EPILOGUE_BIAS)
                sum += get(j.d.type, j.product.bias, (int64_t)row);
            put(j.d.type, d, at, sum);
        }
}

/* Bytes of a matrix, batch included. */
static size_t extent(const struct cuda_on_cpu_layout &l)
{
    return ((size_t)(l.batch - 1) * (size_t)l.stride + (l.columns - 1) * (size_t)l.ld + l.rows) *
           size_of(l.type);
}

static bool is_sound(const struct job &j)
{
    const bool turn_a = j.product.turns[0] == CUBLAS_OP_T;
    const bool turn_b = j.product.turns[1] == CUBLAS_OP_T;

    return j.a.type == j.b.type && j.a.type == j.d.type && j.a.batch == j.b.batch &&
           j.a.batch == j.d.batch && j.a.ld >= (int64_t)j.a.rows &&
           j.b.ld >= (int64_t)j.b.rows && j.d.ld >= (int64_t)j.d.rows &&
           (turn_a ? j.a.columns : j.a.rows) == j.d.rows &&
           (turn_b ? j.b.rows : j.b.columns) == j.d.columns &&
           (turn_a ? j.a.rows : j.a.columns) == (turn_b ? j.b.columns : j.b.rows);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    const struct job j = { *product,        *a_layout, *b_layout,
                           *d_layout,       (const char *)a, (const char *)b,
                           (char *)d,       *(const float *)alpha, *(const float *)beta };

    if (handle == NULL || c != d || c_layout != d_layout || !is_sound(j))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % algorithm->alignment != 0)
        cuda_on_cpu_die("a product's matrices are aligned to less than the %u bytes promised",
                        algorithm->alignment);
    cuda_on_cpu_want("product: a", CUDA_ON_CPU_DEVICE, a, extent(j.a));
    cuda_on_cpu_want("product: b", CUDA_ON_CPU_DEVICE, b, extent(j.b));
    cuda_on_cpu_want("product: d", CUDA_ON_CPU_DEVICE, d, extent(j.d));
    cuda_on_cpu_want("product: workspace", CUDA_ON_CPU_DEVICE, workspace, workspace_bytes);
    if (product->epilogue == CUBLASLT_EPILOGUE_BIAS)
        cuda_on_cpu_want("product: bias", CUDA_ON_CPU_DEVICE, product->bias,
                         j.d.rows * size_of(j.d.type));
    cuda_on_cpu_issue(stream, [j] {
        for (int64_t batch = 0; batch < j.d.batch; batch++)
            multiply(j, batch);
        return true;
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *found, int *count)
{
    found->algo.alignment = preference->alignment;
    *count = wanted > 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = new cuda_on_cpu_handle();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    *made = new cuda_on_cpu_product();
    (*made)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t take(void *to, size_t size, const void *value, size_t given)
{
    if (given != size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t size)
{
    switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return take(&product->turns[0], sizeof product->turns[0], value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return take(&product->turns[1], sizeof product->turns[1], value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return take(&product->epilogue, sizeof product->epilogue, value, size);
    default:
        return take(&product->bias, sizeof product->bias, value, size);
    }
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
    delete product;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    *made = new cuda_on_cpu_layout{ type, rows, columns, ld, 0, 1 };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void *value, size_t size)
{
    if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        return take(&layout->batch, sizeof layout->batch, value, size);
    return take(&layout->stride, sizeof layout->stride, value, size);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    *made = new cuda_on_cpu_preference{ 0, 256 };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *value, size_t size)
{
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return take(&preference->workspace, sizeof preference->workspace, value, size);
    return take(&preference->alignment, sizeof preference->alignment, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}
