/* ssh_password.h - log in with a password, where login.h allows it
 *
 * Tries "password", then "keyboard-interactive", if the server offers them: after two refusals
 * this login has failed. It answers only questions that are not echoed, and only once: a
 * server that wants a new password or a code gets no answer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_PASSWORD_H
#define MUSTER_SSH_PASSWORD_H

#include <stdbool.h>

#include <libssh/libssh.h>

#include "transport/conn.h"

struct ssh_password {
    const char *host; /* whose password; NULL: the one for all nodes. Borrowed */
    bool is_refused; /* by all methods; another password may be right */
    int  method;   /* the method that is tried now */
    int  tried;    /* bits of the refused methods */
    int  rounds;   /* rounds of questions */
    bool is_answered;
    char asked[128]; /* what else the server asks */
};

/* Returns the same as ssh_auth_step(). user: for the messages. */
int ssh_password_step(struct ssh_password *password, ssh_session session, const char *user,
                      struct conn_failure *why);

#endif
