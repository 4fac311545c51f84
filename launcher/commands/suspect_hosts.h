/* suspect_hosts.h - what a run, and the user, do about the hosts that spoilt earlier runs
 * (history/suspects.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SUSPECT_HOSTS_H
#define MUSTER_SUSPECT_HOSTS_H

#include <stdio.h>

#include "options/options.h"
#include "plan/select.h"

/* With --exclude-suspects: fills in options->suspects. */
void suspect_hosts_exclude(struct options *options);

/* Says which hosts of a run are suspects: a warning, or a note of the ones that are excluded.
 * hosts: all; selected: those that the run may use. */
void suspect_hosts_tell(const struct options *options, const struct hostlist *hosts,
                        const struct selection *selected);

/* Prints a line for each. */
void suspect_hosts_print(FILE *out);

/* muster clean --suspects: forgets them, or only those that the user names. Returns the exit
 * status. */
int suspect_hosts_forget(const struct options *options, char *const *here);

#endif
