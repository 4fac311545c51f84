/* login.h - what only muster bootstrap allows of a login: a password, and unknown host keys
 *
 * Everything else logs in with keys, to hosts that are known, and never asks. Until one of the
 * first three functions is called, so does this. The password is asked on the terminal when the
 * first host needs it, once for all hosts; the event loop goes on meanwhile. It is in no argument
 * and no environment, and login_clear() wipes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOGIN_H
#define MUSTER_LOGIN_H

#include <stdbool.h>

#include <event2/event.h>

#include "err.h"

#define LOGIN_PASSWORD_MAX 512 /* bytes */
#define LOGIN_ASK_S        90  /* for somebody to type it: less than sshd's LoginGraceTime */

/* Record the keys of hosts that are not known yet. */
void login_allow_unknown(void);
/* The first line of fd; -1 with err. fd is closed. */
int  login_read_password(int fd, struct error *err);
/* Ask on the terminal, once it is needed. */
void login_allow_asking(void);
/* Wipe the password; as it was in the beginning. */
void login_clear(void);

bool login_records_unknown(void);
bool login_takes_password(void);

enum login_password { LOGIN_HAVE, LOGIN_WAIT, LOGIN_NONE };

/* LOGIN_WAIT: ready will be called, once, unless login_forget() comes first. NONE: with the reason
 * in err; it will not change. */
enum login_password login_await(struct event_base *base, void (*ready)(void *arg), void *arg,
                                struct error *err);
void                login_forget(void *arg);
/* After LOGIN_HAVE; borrowed. */
const char         *login_password(void);

#endif
