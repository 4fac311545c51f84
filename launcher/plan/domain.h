/* domain.h - the domain that all hosts share, which labels and tables leave out
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DOMAIN_H
#define MUSTER_DOMAIN_H

#include <stddef.h>

#include "strlist.h"

/* The length of what all names have from their first '.' on; 0 if they differ in it, are addresses,
 * or are less than two. */
size_t domain_shared(const struct strlist *names);

#endif
