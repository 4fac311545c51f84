/* saved_options.h - the settings of a run as words of a command line, for muster resume
 *
 * The settings from the environment come first (MUSTER_FANOUT=128 as --fanout=128), then those
 * from the command line, each under its full name. muster resume reads muster.conf again. The
 * words go to disk, and the values of --env may be secrets, so only the names are kept: muster
 * resume takes the values from its own environment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAVED_OPTIONS_H
#define MUSTER_SAVED_OPTIONS_H

#include "options/argv.h"
#include "strlist.h"

/* Appends the settings of the command line to words. */
void saved_options_add(struct strlist *words, const struct settings *settings);

/* Appends the settings of the command line that choose and reach hosts, as words for muster bcast,
 * or for muster clean if that is command. */
void saved_options_add_hosts(struct strlist *words, const struct settings *settings,
                             enum command command);

/* Appends the setting that an environment variable makes. Call it before saved_options_add(),
 * once per variable, in the order in which they apply. A setting that the command line also has
 * is left out, because --env and other options that accumulate would count twice, and hosts may
 * be given only once. */
void saved_options_add_env(struct strlist *words, const struct settings *settings,
                           const struct option_row *row, const char *value);

#endif
