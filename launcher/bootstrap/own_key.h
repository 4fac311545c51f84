/* own_key.h - a key pair for a user who has none
 *
 * A user without a key logs in with a password, for which only muster bootstrap asks: the next
 * command could not log in. So with --apply muster makes the pair that ssh-keygen(1) makes by
 * default, once a node has taken a password, and before that node is asked for anything; the step
 * key installs it. A plan says so. No file is ever replaced.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OWN_KEY_H
#define MUSTER_OWN_KEY_H

#include <stdbool.h>

#include <jansson.h>

#include "err.h"

struct bootstrap;

enum own_key_state {
    OWN_KEY_UNKNOWN, /* no node has taken a password yet */
    OWN_KEY_NEEDLESS,
    OWN_KEY_PLANNED,
    OWN_KEY_MADE,
    OWN_KEY_NOTED,   /* there will be none, and why says it */
    OWN_KEY_FAILED,  /* why says it */
};

struct own_key {
    bool               is_unwanted; /* make_key = no */
    enum own_key_state state;
    struct error       why;
};

/* To be called before each request to a node. Adds the public key to access.keys of the settings;
 * for a plan a stand-in that no node has. -1: it could not be made, so no node may be changed. */
int own_key_settle(struct bootstrap *bootstrap);

/* Returns what it did as a line of the agent's form, which the caller releases; NULL: nothing. */
json_t *own_key_line(const struct own_key *own);

/* Makes HOME/.ssh/id_ed25519 and its .pub, and HOME/.ssh if it is missing. -1 with err: then there
 * is no new file. */
int own_key_make(const char *home, struct error *err);

#endif
