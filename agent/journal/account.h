/* account.h - an account of this node, and an account as a kind of state: see state.h
 *
 * The state's path is the name of the account, its bytes "UID:GID:COMMENT:HOME:SHELL" as passwd(5)
 * has them. An account that useradd(8) has not finished, since its power went, has no bytes: it is
 * neither absent nor as wanted.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_ACCOUNT_H
#define MUSTER_AGENT_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "journal/state.h"

#define ACCOUNT_MARK    "made by muster bootstrap" /* the comment of an account that we made */
#define ACCOUNT_UID_MIN 1000 /* of people, as in login.defs; below it are the system's */
#define ACCOUNT_UID_END 60000
#define ACCOUNT_NOBODY  65534

struct account {
    uid_t uid;
    gid_t gid;
    char *comment, *home, *shell; /* never NULL once it was found */
};

/* Is it a name that each useradd takes: a small letter or "_", then also digits and "-", at most 32
 * bytes, and not root? */
bool account_name_is_valid(const char *name);
/* Finds the line of name in the text of a passwd(5). False: there is none, or it is malformed, and
 * found holds nothing. */
bool account_find(const char *passwd, const char *name, struct account *found);
void account_clear(struct account *account);
/* Has useradd finished? shadow, group: the texts of these files; shadow NULL: there is none. */
bool account_is_whole(const char *shadow, const char *group, const char *name, gid_t gid);
/* Returns the uid that useradd would choose, which group does not have either: one more than all
 * others of people. -1: all are taken. The texts are those of passwd(5) and group(5). */
long account_next_uid(const char *passwd, const char *group);

/* Does this node know a group, or else an account, of this name or number? It also asks where
 * nsswitch.conf says. */
bool account_is_taken(const char *root, bool group, const char *key);

int  account_state_read(const char *root, const char *name, struct state *state,
                        struct error *err);
/* Runs useradd, userdel and groupdel. Keeps an account whose home has files, with err. */
int  account_state_make(const char *root, const char *name, const struct state *want,
                        struct error *err);
/* Compares all but the shell, which a user may change. */
bool account_state_is(const struct state *one, const struct state *other);
/* Removes an account that useradd has not finished. */
void account_state_tidy(const char *root, const char *name);
/* Splits the bytes of a state; false: they are none of an account. The caller clears it. */
bool account_parse(const char *bytes, struct account *account);

#endif
