/* rank_labels.h - the label of each rank, and whether its output is shown
 *
 * Turns --label host|rank|none and --show-ranks 0,3-5 into output_add_rank() calls. By default
 * a run's lines begin with "host:rank: ", the lines of `muster exec` with "host: ", and the
 * lines of a single rank have no label.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_LABELS_H
#define MUSTER_RANK_LABELS_H

#include "options/options.h"
#include "output/output.h"
#include "plan/plan.h"

/* Checks "0,3-5" against the world and turns it into shown[plan->world_size], which the caller
 * frees; with roles the numbers are those of each. A NULL text shows all ranks. Returns -1 with
 * err. */
int rank_labels_parse_shown(const char *text, const struct plan *plan, bool **shown,
                            struct error *err);

/* Adds every rank of the plan to output, or updates it there. shown comes from
 * rank_labels_parse_shown() and has the first shown_count ranks. */
void rank_labels_add(struct output *output, const struct plan *plan,
                     const struct options *options, const bool *shown, size_t shown_count);

/* Returns the label of a line of several ranks, in ascending order and all of one world; caller
 * frees. "[0-3,5] ", with roles "[train 0-3] "; with --label host the hosts, with none "". */
char *rank_labels_of_many(const struct plan *plan, const struct options *options, const int *rank,
                          size_t count);

/* Prepares output for a restart of the ranks of a world (the plan, or a role of it), whose files
 * get other names. */
void rank_labels_again(struct output *output, const struct plan *plan, const struct plan *world,
                       const struct options *options);

#endif
