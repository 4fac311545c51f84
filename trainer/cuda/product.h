/* product.h - matrix products on the GPU, by cuBLASLt
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CUDA_PRODUCT_H
#define MUSTER_CUDA_PRODUCT_H

#include "cuda/stream.h"

extern "C" {
#include "model/ops.h"
}

/* A cache of prepared products: each shape is prepared once and kept. */
struct products_cuda;

#define PRODUCTS_CUDA_MAX 256 /* shapes; when the cache is full, the oldest ones are dropped */

/* Failures are kept in stream. */
struct products_cuda *products_cuda_new(struct stream *stream, enum dtype type);
void                  products_cuda_free(struct products_cuda *products);

/* As ops->matmul. */
void product_cuda(struct products_cuda *products, const struct matmul *shape, const void *a,
                  const void *b, const void *bias, void *c);

#endif
