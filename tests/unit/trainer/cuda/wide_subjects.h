/* wide_subjects.h - operations that a GPU does in packs of 16 bytes, and how they compare
 *
 * Most of the subjects in op_subjects.h have odd widths.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WIDE_SUBJECTS_H
#define MUSTER_WIDE_SUBJECTS_H

#include "model/ops.h"

/* All of them, with what double gives. */
void wide_subjects_compare(struct ops *ops, double tolerance);

#endif
