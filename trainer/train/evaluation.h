/* evaluation.h - the loss of samples that are not trained
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVALUATION_H
#define MUSTER_EVALUATION_H

#include <stdbool.h>
#include <stdint.h>

#include "data/samples.h"
#include "model/model.h"
#include "train/world.h"

struct evaluation {
    struct samples samples;
    struct model  *model; /* both borrowed; the model's hooks are set */
    struct world  *world;
    int64_t        sequences; /* of a pass */
    int32_t       *tokens, *targets;
    int32_t       *begins; /* NULL: the samples have no documents */
};

/* Opens the samples of a file or directory, with text as for samples_open(). All ranks call
 * these functions. -1 with err. Close it with evaluation_close(), also after a failure. */
int  evaluation_open(struct evaluation *evaluation, const char *path, int64_t sequences,
                     int length, uint64_t seed, const struct data_text *text,
                     struct model *model, struct world *world, struct error *err);
void evaluation_close(struct evaluation *evaluation); /* one that was never opened is fine */

/* Sets loss to the mean over all targets of all samples, without dropout. It has the same samples
 * each time, and the same for every number of ranks. */
int evaluation_run(struct evaluation *evaluation, double *loss, struct error *err);

#endif
