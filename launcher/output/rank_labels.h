/* rank_labels.h - what the user sees of each rank: its label, and whether it is shown
 *
 * --label host|rank|none and --show-ranks 0,3-5, turned into output_add_rank() calls. By default
 * a run's lines begin with "host:rank: ", those of `muster exec` with "host: ", and those of a
 * single rank have no label.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_LABELS_H
#define MUSTER_RANK_LABELS_H

#include "options/options.h"
#include "output/output.h"
#include "plan/plan.h"

/* "0,3-5" checked against the world and made into shown[world_size]; a NULL text shows all. -1
 * with err. Caller frees. */
int rank_labels_parse_shown(const char *text, int world_size, bool **shown, struct error *err);

/* Add every rank of the plan to output, or say what is new of it; shown is from
 * rank_labels_parse_shown(), for the first shown_count ranks. */
void rank_labels_add(struct output *output, const struct plan *plan,
                     const struct options *options, const bool *shown, size_t shown_count);

/* Every rank starts again, and its file has another name. */
void rank_labels_again(struct output *output, const struct plan *plan,
                       const struct options *options);

#endif
