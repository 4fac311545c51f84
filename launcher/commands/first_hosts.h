/* first_hosts.h - the hosts with which a run begins, and waiting for them
 *
 * Where nodes may come and go, a script or a hostfile need not name enough of them yet: then muster
 * looks again until it does, or until --max-wait is over.
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

/* Start from { 0 }. */
struct first_hosts {
    struct hostlist  hosts;
    struct selection selection; /* of hosts */
    size_t           count;     /* so many of these are the first world, the others spares */
    bool             is_enough; /* else all three mean nothing yet, and ... */
    struct error     missing;   /* ... why */
    struct hostlist  named;     /* hosts, before anybody counted their GPUs */
    char            *include;   /* what CUDA_VISIBLE_DEVICES stands for; NULL: nothing */
};

/* Look once. 0; or an exit status if there are not enough and nothing is to be waited for: the user
 * was told. here: the environment. */
int first_hosts_find(const struct options *options, char *const *here, struct first_hosts *first);

/* Until is_enough, which it may be already. 0, or an exit status: 75 when --max-wait is over, 130
 * after Ctrl-C ... */
int first_hosts_wait(const struct options *options, char *const *here, struct first_hosts *first);

void first_hosts_clear(struct first_hosts *first);

#endif
