/* notice.h - has muster said that a node is to go?
 *
 * The file that MUSTER_NOTICE_FILE names appears then, or is replaced. What it says does not
 * matter here: whatever it is, the training saves.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NOTICE_H
#define MUSTER_NOTICE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* Starts as { 0 }. */
struct notice {
    ino_t           file; /* the last one that was seen */
    struct timespec written;
};

/* Since it was asked last. Without such a variable there never is one. */
bool notice_has_come(struct notice *notice);

#endif
