/* quantity.h - Kubernetes' way of writing an amount: 500m, 2, 1.5Gi
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_QUANTITY_H
#define MUSTER_QUANTITY_H

#include "err.h"

/* amount: in units, or in bytes. -1 if text is no quantity, or less than zero; the text of the
 * error says what to write. */
int quantity_parse(const char *text, double *amount, struct error *err);

#endif
