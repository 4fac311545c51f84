/* acl_mode.c - see acl_mode.h
 *
 * Reads the attribute as the kernel defines it (linux/posix_acl_xattr.h): a header, then entries,
 * little-endian.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/acl_mode.h"

#include <endian.h>
#include <stdint.h>
#include <sys/xattr.h>

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#define ENTRIES_MAX 8192 /* an attribute has at most 64 KiB */

mode_t acl_mode(const char *path, mode_t mode)
{
    static struct {
        struct posix_acl_xattr_header header;
        struct posix_acl_xattr_entry  entry[ENTRIES_MAX];
    } acl;
    ssize_t size;
    size_t  count, i;

    if (S_ISLNK(mode))
        return mode;
    size = getxattr(path, "system.posix_acl_access", &acl, sizeof acl);
    if (size < (ssize_t)sizeof acl.header ||
        le32toh(acl.header.a_version) != POSIX_ACL_XATTR_VERSION)
        return mode;
    count = ((size_t)size - sizeof acl.header) / sizeof acl.entry[0];
    for (i = 0; i < count; i++)
        if (le16toh(acl.entry[i].e_tag) == ACL_GROUP_OBJ)
            return mode & (mode_t)(~070 | (le16toh(acl.entry[i].e_perm) & 07) << 3);
    return mode;
}
