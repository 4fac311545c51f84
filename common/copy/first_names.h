/* first_names.h - the first name in a tree of each file that has several
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FIRST_NAMES_H
#define MUSTER_FIRST_NAMES_H

#include <stddef.h>
#include <sys/types.h>

struct first_names;

/* Returns the number that the file had when it was first found, or notes number. *names may be
 * NULL: none was found before. */
size_t first_names_find(struct first_names **names, dev_t device, ino_t inode, size_t number);
void   first_names_free(struct first_names *names);

#endif
