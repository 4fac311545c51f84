/* notice.h - has muster sent a notice that a node will leave?
 *
 * For a notice, muster creates or replaces the file that MUSTER_NOTICE_FILE names. The training
 * does not read the file: it saves at every notice.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NOTICE_H
#define MUSTER_NOTICE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* Starts as { 0 }. */
struct notice {
    ino_t           file; /* inode of the last notice that was seen */
    struct timespec written;
};

/* Has a notice come since the last call? Always false without MUSTER_NOTICE_FILE. */
bool notice_has_come(struct notice *notice);

#endif
