/* hostword.h - one host as people write it: [user@]name[:number]
 *
 * The number is a port in a hostfile and a number of slots in -H. The name may be a range
 * (hostrange.h) or an IPv6 address, with or without brackets; without them it cannot have a
 * number. All of it may end up on a command line or a terminal, so only harmless characters are
 * allowed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOSTWORD_H
#define MUSTER_HOSTWORD_H

#include <stdbool.h>

#include "err.h"

struct hostword {
    char *user;    /* NULL: none */
    char *name;    /* without the brackets of an IPv6 address */
    char *number;  /* NULL: none; not checked */
    bool  is_bare; /* IPv6 without brackets */
};

/* Cuts word into its parts, which point into it. Returns -1 with the reason in err and the
 * position within word in *at. */
int hostword_cut(char *word, struct hostword *parts, const char **at, struct error *err);

/* Checks a user name: letters, digits and ". _ - @ \ +", no '-' at the start. */
int hostword_check_user(const char *user, const char **at, struct error *err);

#endif
