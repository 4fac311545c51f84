/* nearby.h - is a word a misspelling of another?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NEARBY_H
#define MUSTER_NEARBY_H

#include <stddef.h>

/* Returns how many letters differ between name and known: changed, missing, added, or swapped
 * with the next one; '-' and '_' are the same. SIZE_MAX if that is more than a typing error in
 * a name of this length. */
size_t nearby(const char *name, size_t length, const char *known);

#endif
