/* given.h - the settings of a run as words of a command line, for muster resume
 *
 * Those of the environment (MUSTER_FANOUT=128 as --fanout=128), then those of the command line,
 * each with its whole name; muster.conf is read anew. Values of --env may be secrets, and the words
 * go to disk: of those only the name is noted, so that muster resume takes the value from its own
 * environment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GIVEN_H
#define MUSTER_GIVEN_H

#include "options/argv.h"
#include "strlist.h"

/* Add to words what the command line says. */
void given_add(struct strlist *words, const struct settings *settings);

/* Put in front of that what a variable of the environment says: once for each, in the order in
 * which they count. Nothing where the command line has the same, since --env and the like add up,
 * and hosts may be given once. */
void given_add_env(struct strlist *words, const struct settings *settings,
                   const struct option_row *row, const char *value);

#endif
