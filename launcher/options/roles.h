/* roles.h - the roles of a run: several worlds that begin and end together
 *
 *     muster OPTIONS --role train:8 OPTIONS a.py ARGS : --role gen:8 OPTIONS b.py ARGS
 *
 * The words before the first --role are for all roles. What a role is, is read from them and its
 * own words, as if these were all of a command line (options.c).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROLES_H
#define MUSTER_ROLES_H

#include "err.h"
#include "options/options.h"
#include "strlist.h"

#define ROLES_MAX     32
#define ROLE_NAME_MAX 32 /* characters */

/* The words of each role, from its --role to the next ":". Initialize it as { 0 }. */
struct role_lines {
    struct strlist line[ROLES_MAX];
    size_t         count;
};

void role_lines_clear(struct role_lines *lines);

/* Cuts what follows the options of the run. -1 with err: two ":" with no role between them, too
 * many roles. */
int role_lines_cut(struct role_lines *lines, const struct strlist *words, struct error *err);

/* Adds a role per line of a file: the words behind --role, separated by blanks; '...', "..." and
 * \ quote, # begins a comment. -1 with err, which has the line. */
int role_lines_read(struct role_lines *lines, const char *path, struct error *err);

/* Adds the words of all roles, so that role_lines_cut() finds the same roles again. Values of
 * variables may be secrets, and are left out. */
void roles_add_words(const struct options *options, struct strlist *words);

/* Refuses names that are not unique, numbers that are missing, and options of the run that mean
 * nothing with roles. -1 with err. */
int roles_check(const struct options *options, struct error *err);

#endif
