/* git_ignored.h - the files that git does not track and .gitignore names
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GIT_IGNORED_H
#define MUSTER_GIT_IGNORED_H

#include "err.h"
#include "strlist.h"

/* Asks git(1) which files and directories below each directory of dirs it ignores, and adds their
 * absolute paths, and that of .git, to ignored, sorted. Skips what is not a directory. Returns -1
 * with err: there is no git, or a directory is in no repository of the user. */
int git_ignored_find(const struct strlist *dirs, struct strlist *ignored, struct error *err);

#endif
