/* ssh_auth.h - log in with a key, without any prompt
 *
 * If no key is accepted, muster bootstrap tries a password, too (login.h).
 *
 * Tries in turn the identity files that ssh config names, the ssh agent (unless IdentitiesOnly
 * is set), and ssh's default files. (ssh tries the agent before the named files. In muster's
 * order an agent with many other keys cannot use up the attempts that the server allows before
 * a named key is tried.) Keys are offered with a signature at once: asking first whether the
 * server would accept them costs a round trip, and asking for the list of methods costs
 * another. Keys are read once and shared by all connections.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_AUTH_H
#define MUSTER_SSH_AUTH_H

#include <libssh/libssh.h>

#include "transport/conn.h"
#include "transport/ssh/ssh_config.h"

struct ssh_auth;

/* All are borrowed. host: the password is this host's own; NULL: the one for all nodes. */
struct ssh_auth *ssh_auth_new(ssh_session session, const struct ssh_config *config,
                              const char *host);
void             ssh_auth_free(struct ssh_auth *auth);

/* Returns 1 if logged in; 0: call again when the session has news; -1: the server accepted no
 * key. */
int ssh_auth_step(struct ssh_auth *auth, struct conn_failure *why);

/* After ssh_auth_step() returned 0: does the next call need login_password()? */
bool ssh_auth_wants_password(const struct ssh_auth *auth);
/* After ssh_auth_step() returned -1: was it the password that was wrong? */
bool ssh_auth_refused_password(const struct ssh_auth *auth);

#endif
