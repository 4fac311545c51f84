/* ssh_auth.h - logging in with a key, without asking anybody anything
 *
 * If no key is accepted, muster bootstrap tries a password, too (login.h).
 *
 * Tried in turn: identity files that ssh config names, the ssh agent (unless IdentitiesOnly is
 * set), ssh's default files. (ssh asks the agent before the named files; in this order a named key
 * is not refused because an agent with many other keys used up the attempts that the server
 * allows.) Keys are offered with a signature at once: asking first whether the server would accept
 * them costs a round trip, and so does asking for the list of methods. Keys are read once and
 * shared by all connections.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_AUTH_H
#define MUSTER_SSH_AUTH_H

#include <libssh/libssh.h>

#include "transport/conn.h"
#include "transport/ssh/ssh_config.h"

struct ssh_auth;

/* session and config are borrowed. */
struct ssh_auth *ssh_auth_new(ssh_session session, const struct ssh_config *config);
void             ssh_auth_free(struct ssh_auth *auth);

/* 1: logged in. 0: call again when there is news of the session. -1: the server accepted no
 * key. */
int ssh_auth_step(struct ssh_auth *auth, struct conn_failure *why);

/* It has returned 0, and needs login_password() when it is called again. */
bool ssh_auth_wants_password(const struct ssh_auth *auth);

#endif
