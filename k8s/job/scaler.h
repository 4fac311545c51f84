/* scaler.h - ScaleIn and ScaleOut of ET's operator: documents that ask for fewer or more workers
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SCALER_H
#define MUSTER_SCALER_H

#include <stdint.h>

#include <jansson.h>

#include "err.h"
#include "job/job.h"

#define SCALER_VERSION "kai.alibabacloud.com/v1alpha1"

/* Start from { 0 }. */
struct scaler {
    char          *name, *space; /* of the job; space NULL: the context's */
    int64_t        more;         /* workers to add; negative: to remove */
    struct strlist pods;         /* Pods to remove, if the document names them */
    struct strlist warnings;
};

int  scaler_read(struct scaler *scaler, const json_t *document, struct error *err);
void scaler_clear(struct scaler *scaler);

/* Returns how many workers the job should have. -1: fewer than 1, or the document names Pods
 * that are not the last. */
int64_t scaler_workers(const struct scaler *scaler, const struct job *job, struct error *err);

#endif
