/* page_points.h - the steps of a run over time, for the page's charts
 *
 *     [[1796034667.1, 120, 2.31], [1796034669.4, 121, null], ...]
 *
 * Each is when the step was reported (Unix time), its number, and the loss; null: not known.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_POINTS_H
#define MUSTER_PAGE_POINTS_H

#include <stdint.h>

#include "elastic/step_history.h"

/* Returns those after that number of the history (0: all) as JSON; the caller frees it. NULL: there
 * are none. offset_s: of Unix time from the history's clock. */
char *page_points(const struct step_history *history, uint64_t after, double offset_s);

#endif
