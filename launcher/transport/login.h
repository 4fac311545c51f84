/* login.h - what the user allows beyond keys and known hosts
 *
 * muster bootstrap may log in with a password, and to hosts whose keys are unknown; --sudo needs
 * the password of the nodes' sudo. All else logs in with keys, to known hosts, and never prompts.
 * This is also the default here until one of the functions below allows more. When the first node
 * needs a password, muster asks for it on the terminal, once for all nodes, and once more for each
 * host that refuses that one, while the event loop keeps running. A password is in no argument, no
 * environment and no core file, and login_clear() wipes it. Processes forked after a password was
 * allowed share it, whichever of them asks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOGIN_H
#define MUSTER_LOGIN_H

#include <stdbool.h>

#include <event2/event.h>

#include "err.h"

#define LOGIN_PASSWORD_MAX 512 /* bytes */
#define LOGIN_ASK_S        90  /* time to type it: less than sshd's LoginGraceTime */

/* What a password is for. */
enum login_by { LOGIN_BY_SSH, LOGIN_BY_SUDO, LOGIN_WAYS };

/* Allows recording the keys of unknown hosts. */
void login_allow_unknown(void);
/* Reads the password from the first line of fd, and closes fd unless that is standard input.
 * Returns -1 with err. */
int  login_read_password(enum login_by by, int fd, struct error *err);
/* Allows asking for the password on the terminal when a node needs it. */
void login_allow_asking(enum login_by by);
/* Wipes the passwords and restores the defaults. */
void login_clear(void);

bool login_records_unknown(void);
bool login_takes_password(enum login_by by);

enum login_password { LOGIN_HAVE, LOGIN_WAIT, LOGIN_NONE };

/* Returns LOGIN_WAIT if muster still asks: ready will be called once, unless login_forget() is
 * called first. Returns LOGIN_NONE with the reason in err if there will never be a password. host:
 * the password of this host alone; NULL: the one for all nodes. */
enum login_password login_await(enum login_by by, const char *host, struct event_base *base,
                                void (*ready)(void *arg), void *arg, struct error *err);
/* May muster ask for the password of one host? */
bool                login_asks_again(enum login_by by);
/* Does nothing if arg does not wait. Stops asking if no one else waits. */
void                login_forget(void *arg);
/* Returns the password after LOGIN_HAVE; borrowed. */
const char         *login_password(enum login_by by, const char *host);
/* A node has taken the password: it needs one. */
void                login_accepted(enum login_by by);
bool                login_was_accepted(enum login_by by);
/* A node has refused the password. Those who have it keep it; the next run that shares it must
 * call login_drop_refused(), so that muster asks again. */
void                login_refused(enum login_by by);
void                login_drop_refused(void);

#endif
