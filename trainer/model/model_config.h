/* model_config.h - the shape of a model, as Hugging Face's config.json has it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MODEL_CONFIG_H
#define MUSTER_MODEL_CONFIG_H

#include "err.h"

enum model_kind { MODEL_GPT2, MODEL_BERT, MODEL_ROBERTA };

struct model_config {
    enum model_kind kind;
    int             vocabulary; /* tokens are 0 ... vocabulary - 1 */
    int             positions;  /* the longest sequence */
    int             types;      /* token types of BERT; ours are all 0 */
    int             width;
    int             inner; /* width of the layer between, in a block's second half */
    int             heads;
    int             blocks;
    double          norm_epsilon;
    double          deviation; /* of the initial weights */
};

#endif
