/* product.h - matrix products of the CPU
 *
 * product_onednn.c alone knows oneDNN, of which 2.6 and 3 differ. product_plain.c is what they
 * mean.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PRODUCT_H
#define MUSTER_PRODUCT_H

#include "comm/dtype.h"
#include "err.h"
#include "model/ops.h"

/* Products that were made ready: each shape is prepared once, and kept. */
struct products;

#define PRODUCTS_MAX 512 /* shapes; more than those make the first ones go */

/* NULL with err. */
struct products *products_new(enum dtype type, struct error *err);
void             products_free(struct products *products); /* NULL is fine */

/* What they compute in: the type that was asked for, or DTYPE_FLOAT where this CPU has no products
 * of it. Then product_run() takes floats, and product_run_narrow() what was asked for. */
enum dtype products_type(const struct products *products);

/* As ops->matmul. */
int product_run(struct products *products, const struct matmul *shape, const void *a,
                const void *b, const void *bias, void *c, struct error *err);

/* Of DTYPE_HALF or DTYPE_BFLOAT16, by products of floats. */
int product_run_narrow(struct products *products, enum dtype type, const struct matmul *shape,
                       const void *a, const void *b, const void *bias, void *c,
                       struct error *err);

/* Of doubles, in plain loops. */
void product_plain(const struct matmul *shape, const double *a, const double *b,
                   const double *bias, double *c);

#endif
