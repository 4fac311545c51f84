/* rank_hint.h - what the user can do about a rank that failed
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_HINT_H
#define MUSTER_RANK_HINT_H

#include "outcome/outcome.h"
#include "strlist.h"

/* Returns the usual reason of failures without a message, and of some with a message among lines,
 * the last of the rank's standard error. NULL: none; caller frees. */
char *rank_hint(const struct outcome *outcome, int rank, const struct strlist *lines);

#endif
