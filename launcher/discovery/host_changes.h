/* host_changes.h - compares two lists of hosts by name, in any order
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_CHANGES_H
#define MUSTER_HOST_CHANGES_H

#include <stdbool.h>

#include "plan/hostfile.h"
#include "strlist.h"

struct host_changes {
    struct strlist came, gone;
    struct strlist changed; /* they have other slots, or are reached or used differently */
};

/* Fills changes; call host_changes_clear() when done. Prices and classes are not compared. */
void host_changes_find(struct host_changes *changes, const struct hostlist *before,
                       const struct hostlist *now);
bool host_changes_any(const struct host_changes *changes);
void host_changes_clear(struct host_changes *changes);

/* Returns "te[5-6] are new; te3 is gone"; caller frees. */
char *host_changes_words(const struct host_changes *changes);

#endif
