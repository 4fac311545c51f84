/* ssh_session.h - a libssh session, set up for muster
 *
 * Non-blocking, for a socket that is already connected, with what ssh config says about
 * algorithms and user, and with muster's preferences where it says nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_SESSION_H
#define MUSTER_SSH_SESSION_H

#include <libssh/libssh.h>

#include "err.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/ssh_config.h"

/* NULL with err. The socket belongs to the session from the first ssh_connect() on: ssh_free()
 * closes it. (ssh_disconnect() would not.) */
ssh_session ssh_session_new(int fd, const struct ssh_config *config,
                            const struct known_hosts *known, struct error *err);

/* Does libssh have one algorithm at least of each list that config allows? False with err,
 * which names the list. What the user has excluded is never used instead. */
bool ssh_session_can(const struct ssh_config *config, struct error *err);

#endif
