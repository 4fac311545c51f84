/* first_names.c - see first_names.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/first_names.h"

#include <search.h>
#include <stdlib.h>

#include "xalloc.h"

struct first_names {
    void *root; /* of tsearch(3) */
};

struct name {
    dev_t  device;
    ino_t  inode;
    size_t number;
};

static int by_inode(const void *a, const void *b);

size_t first_names_find(struct first_names **names, dev_t device, ino_t inode, size_t number)
{
    struct name *name = xmalloc(sizeof *name), **found;

    *name = (struct name){ device, inode, number };
    if (*names == NULL)
        *names = xcalloc(1, sizeof **names);
    found = tsearch(name, &(*names)->root, by_inode);
    if (found == NULL)
        xalloc_die();
    if (*found != name)
        free(name);
    return (*found)->number;
}

static int by_inode(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return x->device != y->device ? (x->device < y->device ? -1 : 1)
           : x->inode != y->inode ? (x->inode < y->inode ? -1 : 1)
                                  : 0;
}

void first_names_free(struct first_names *names)
{
    if (names == NULL)
        return;
    tdestroy(names->root, free);
    free(names);
}
