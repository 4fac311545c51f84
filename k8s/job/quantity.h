/* quantity.h - Kubernetes quantities: 500m, 2, 1.5Gi
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUANTITY_H
#define MUSTER_QUANTITY_H

#include "err.h"

/* amount: in units, or in bytes. -1: text is not a quantity, or is negative; the error says
 * what to write. */
int quantity_parse(const char *text, double *amount, struct error *err);

#endif
