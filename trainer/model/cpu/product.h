/* product.h - matrix products on the CPU
 *
 * Only product_onednn.c uses oneDNN, whose versions 2.6 and 3 have different interfaces.
 * product_plain.c is the reference implementation.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PRODUCT_H
#define MUSTER_PRODUCT_H

#include "comm/dtype.h"
#include "err.h"
#include "model/ops.h"

/* A cache of prepared products: each shape is prepared once and kept. */
struct products;

#define PRODUCTS_MAX 512 /* shapes; when the cache is full, the oldest ones are dropped */

/* NULL with err. */
struct products *products_new(enum dtype type, struct error *err);
void             products_free(struct products *products); /* NULL is fine */

/* Returns the type of the arithmetic: the requested type, or DTYPE_FLOAT if this CPU has no
 * products of the requested type. In the second case product_run() takes floats, and
 * product_run_narrow() takes the requested type. */
enum dtype products_type(const struct products *products);

/* As ops->matmul. */
int product_run(struct products *products, const struct matmul *shape, const void *a,
                const void *b, const void *bias, void *c, struct error *err);

/* Multiplies matrices of DTYPE_HALF or DTYPE_BFLOAT16 by products of floats. */
int product_run_narrow(struct products *products, enum dtype type, const struct matmul *shape,
                       const void *a, const void *b, const void *bias, void *c,
                       struct error *err);

/* Multiplies matrices of doubles, in plain loops. */
void product_plain(const struct matmul *shape, const double *a, const double *b,
                   const double *bias, double *c);

#endif
