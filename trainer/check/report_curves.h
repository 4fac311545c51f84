/* report_curves.h - a chart of bandwidth over size, as inline SVG
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPORT_CURVES_H
#define MUSTER_REPORT_CURVES_H

#include "check/report.h"

/* Prints one curve per collective, with logarithmic axes; prints nothing without rows. */
void report_curves(const struct report *report, FILE *out);

#endif
