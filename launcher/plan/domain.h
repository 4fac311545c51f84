/* domain.h - the domain that all hosts share, which labels and tables leave out
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DOMAIN_H
#define MUSTER_DOMAIN_H

#include <stddef.h>

#include "strlist.h"

/* Returns the length of the domain that all names share, from the first '.' on; 0 if the
 * domains differ, the names are addresses, or there are fewer than two. */
size_t domain_shared(const struct strlist *names);

#endif
