/* hostword.h - one host as people write it: [user@]name[:number]
 *
 * The number is a port in a hostfile and a count of slots behind -H. The name
 * may be a range (hostrange.h) or an IPv6 address, in brackets or bare; a bare
 * one cannot have a number. Everything in it may end up in a command line or
 * on a terminal one day, so only harmless characters pass.
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

/* Cut word into its parts, which stay in it. -1 with the reason in err and the
 * place within word in *at. */
int hostword_cut(char *word, struct hostword *parts, const char **at, struct error *err);

/* A user's name: letters, digits and ". _ - @ \ +", no '-' in front. */
int hostword_check_user(const char *user, const char **at, struct error *err);

#endif
