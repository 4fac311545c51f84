/* report_curves.h - bandwidth over size, as inline SVG
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPORT_CURVES_H
#define MUSTER_REPORT_CURVES_H

#include "check/report.h"

/* One curve for each collective, both axes logarithmic; nothing when there are no rows. */
void report_curves(const struct report *report, FILE *out);

#endif
