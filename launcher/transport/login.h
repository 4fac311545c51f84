/* login.h - logins that only muster bootstrap allows: with a password, or to unknown host keys
 *
 * All other subcommands log in with keys, to known hosts, and never prompt. This is also the
 * default here until one of the first three functions is called. When the first host needs the
 * password, muster asks for it on the terminal, once for all hosts, while the event loop keeps
 * running. The password is in no argument and no environment, and login_clear() wipes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOGIN_H
#define MUSTER_LOGIN_H

#include <stdbool.h>

#include <event2/event.h>

#include "err.h"

#define LOGIN_PASSWORD_MAX 512 /* bytes */
#define LOGIN_ASK_S        90  /* time to type it: less than sshd's LoginGraceTime */

/* Allows recording the keys of unknown hosts. */
void login_allow_unknown(void);
/* Reads the password from the first line of fd, and closes fd. Returns -1 with err. */
int  login_read_password(int fd, struct error *err);
/* Allows asking for the password on the terminal when a host needs it. */
void login_allow_asking(void);
/* Wipes the password and restores the defaults. */
void login_clear(void);

bool login_records_unknown(void);
bool login_takes_password(void);

enum login_password { LOGIN_HAVE, LOGIN_WAIT, LOGIN_NONE };

/* Returns LOGIN_WAIT if muster still asks: ready will be called once, unless login_forget() is
 * called first. Returns LOGIN_NONE with the reason in err if there will never be a password. */
enum login_password login_await(struct event_base *base, void (*ready)(void *arg), void *arg,
                                struct error *err);
void                login_forget(void *arg);
/* Returns the password after LOGIN_HAVE; borrowed. */
const char         *login_password(void);

#endif
