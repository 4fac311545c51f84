/* ssh_password.h - logging in with a password, where login.h allows it
 *
 * By "password", then by "keyboard-interactive", as far as the server offers them: after two
 * refusals a host is left alone. Only questions that are not echoed are answered, and only once: a
 * server that wants a new password or a code gets nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_PASSWORD_H
#define MUSTER_SSH_PASSWORD_H

#include <stdbool.h>

#include <libssh/libssh.h>

#include "transport/conn.h"

struct ssh_password {
    int  method;   /* that is tried now */
    int  tried;    /* bits of the methods that were refused */
    int  rounds;   /* of questions */
    bool is_answered;
    char asked[128]; /* what else it wants to know */
};

/* As ssh_auth_step(). user: for the text. */
int ssh_password_step(struct ssh_password *password, ssh_session session, const char *user,
                      struct conn_failure *why);

#endif
