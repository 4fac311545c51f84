/* acl_mode.h - the mode of a file that has an ACL
 *
 * The group bits of its mode are the mask of the ACL, that is, the most that any named user or
 * group may do. The group itself may have fewer rights (acl(5)).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ACL_MODE_H
#define MUSTER_ACL_MODE_H

#include <sys/stat.h>

/* Returns the mode that gives the group what it has at path, which may be a link to follow. mode:
 * of the same file. */
mode_t acl_mode(const char *path, mode_t mode);

#endif
