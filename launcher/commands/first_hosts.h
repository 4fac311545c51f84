/* first_hosts.h - finds the hosts with which a run begins, or waits for them
 *
 * If nodes may come and go, a script or a hostfile may list too few hosts at first. Then muster
 * looks again until there are enough, or until --max-wait has passed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FIRST_HOSTS_H
#define MUSTER_FIRST_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "options/options.h"
#include "plan/hostfile.h"
#include "plan/select.h"

/* Initialize it as { 0 }. */
struct first_hosts {
    struct hostlist  hosts;
    struct selection selection; /* selected from hosts */
    size_t           count;     /* this many are the first world, the others spares */
    bool             is_enough; /* false: the fields above mean nothing yet */
    struct error     missing;   /* why they are not enough */
    struct hostlist  named;     /* hosts, before their GPUs were counted */
};

/* Looks once. Returns 0, or an exit status if there are not enough hosts and waiting is
 * useless, after it reported the error to the user. here: the environment. */
int first_hosts_find(const struct options *options, char *const *here, struct first_hosts *first);

/* Waits until is_enough, which may be true already. Returns 0, or an exit status: 75 if
 * --max-wait has passed, 130 after Ctrl-C ... */
int first_hosts_wait(const struct options *options, char *const *here, struct first_hosts *first);

void first_hosts_clear(struct first_hosts *first);

#endif
