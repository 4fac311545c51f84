/* ssh_password.c - see ssh_password.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_password.h"

#include <stdio.h>

#include "exit_code.h"
#include "transport/login.h"

#define ROUNDS_MAX 4

static int  next_method(const struct ssh_password *password, ssh_session session);
static int  answer_questions(struct ssh_password *password, ssh_session session);
static int  refuse(struct ssh_password *password, ssh_session session, const char *user,
                   struct conn_failure *why);

int ssh_password_step(struct ssh_password *password, ssh_session session, const char *user,
                      struct conn_failure *why)
{
    int rc;

    for (;;) {
        if (password->method == 0)
            password->method = next_method(password, session);
        if (password->method == 0)
            return refuse(password, session, user, why);
        rc = password->method == SSH_AUTH_METHOD_PASSWORD
                 ? ssh_userauth_password(session, NULL,
                                         login_password(LOGIN_BY_SSH, password->host))
                 : answer_questions(password, session);
        if (rc == SSH_AUTH_SUCCESS) {
            login_accepted(LOGIN_BY_SSH);
            return 1;
        }
        if (!ssh_is_connected(session))
            return conn_failure_set(why, EXIT_REFUSED, "the server closed the connection after a "
                                    "password for user %s: %s", user, ssh_get_error(session));
        if (rc == SSH_AUTH_AGAIN)
            return 0;
        password->tried |= password->method;
        password->method = 0;
    }
}

/* Returns the next method to try; 0 if none is left. */
static int next_method(const struct ssh_password *password, ssh_session session)
{
    int offered = ssh_userauth_list(session, NULL) & ~password->tried;

    return offered & SSH_AUTH_METHOD_PASSWORD      ? SSH_AUTH_METHOD_PASSWORD
           : offered & SSH_AUTH_METHOD_INTERACTIVE ? SSH_AUTH_METHOD_INTERACTIVE
                                                   : 0;
}

static int answer_questions(struct ssh_password *password, ssh_session session)
{
    const char *prompt;
    char        is_echoed;
    const char *secret = login_password(LOGIN_BY_SSH, password->host);
    int         rc, count, i;

    while ((rc = ssh_userauth_kbdint(session, NULL, NULL)) == SSH_AUTH_INFO) {
        count = ssh_userauth_kbdint_getnprompts(session);
        if (count > 0 && password->is_answered) {
            prompt = ssh_userauth_kbdint_getprompt(session, 0, &is_echoed);
            snprintf(password->asked, sizeof password->asked, "%s", prompt != NULL ? prompt : "");
            return SSH_AUTH_DENIED;
        }
        if (++password->rounds > ROUNDS_MAX)
            return SSH_AUTH_DENIED;
        for (i = 0; i < count; i++) {
            ssh_userauth_kbdint_getprompt(session, (unsigned)i, &is_echoed);
            ssh_userauth_kbdint_setanswer(session, (unsigned)i, is_echoed ? "" : secret);
        }
        password->is_answered = password->is_answered || count > 0;
    }
    return rc;
}

static int refuse(struct ssh_password *password, ssh_session session, const char *user,
                  struct conn_failure *why)
{
    if (password->asked[0] != '\0')
        return conn_failure_set(why, EXIT_REFUSED, "the server asks user %s for more than a "
                                "password: '%s'", user, password->asked);
    if (password->tried == 0) {
        conn_failure_set(why, EXIT_REFUSED,
                         "the server accepts neither the key nor a password from user %s",
                         user);
        return conn_failure_hint(
            why, "add this machine's public key to authorized_keys with the cloud's console");
    }
    (void)session;
    password->is_refused = true;
    conn_failure_set(why, EXIT_REFUSED, "password refused for user %s (tried%s%s)", user,
                     password->tried & SSH_AUTH_METHOD_PASSWORD ? " password" : "",
                     password->tried & SSH_AUTH_METHOD_INTERACTIVE ? " keyboard-interactive" : "");
    return conn_failure_hint(why,
                             "the login name is %s; --ssh_user changes it; sshd may forbid "
                             "root to use a password (PermitRootLogin)",
                             user);
}
