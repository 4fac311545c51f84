/* tree_state.c - see tree_state.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/tree_state.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "journal/checkout.h"
#include "journal/pushed.h"
#include "xalloc.h"

#define DEPTH 64 /* descriptors that nftw() may hold */

static int remove_all(const char *path, struct error *err);
static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where);

int tree_state_read(const char *path, struct state *state, struct error *err)
{
    struct stat about;

    *state = (struct state){ 0 };
    if (lstat(path, &about) < 0)
        return errno == ENOENT ? 0 : err_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return err_set(err, "%s: is not a directory", path);
    state->exists = true;
    return 0;
}

int tree_state_make(const char *path, const struct state *want, struct error *err)
{
    int rc = want->exists ? 0 : pushed_check(path, err); /* a copy may have a .git, too */

    if (rc > 0)
        rc = checkout_check(path, true, err);
    return rc < 0 || want->exists ? rc : remove_all(path, err);
}

void tree_state_tidy(const char *path)
{
    char        *temp = xasprintf("%s" TREE_NEW, path);
    struct error err;
    struct stat  about;

    if (lstat(temp, &about) == 0)
        (void)!remove_all(temp, &err); /* who makes it again, fails and says so */
    free(temp);
}

static int remove_all(const char *path, struct error *err)
{
    if (nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 && errno != ENOENT)
        return err_set(err, "%s: removing it failed: %s", path, strerror(errno));
    state_sync_dir_of(path);
    return 0;
}

/* A directory that is a mount point is busy. */
static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about, (void)type, (void)where;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}
