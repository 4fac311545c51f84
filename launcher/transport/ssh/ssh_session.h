/* ssh_session.h - a libssh session, set up for muster
 *
 * The session is non-blocking, for a socket that is already connected. Algorithms and user come
 * from ssh config, and from muster's preferences where ssh config does not set them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_SESSION_H
#define MUSTER_SSH_SESSION_H

#include <libssh/libssh.h>

#include "err.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/ssh_config.h"

/* Returns NULL with err on failure. From the first ssh_connect() on the socket belongs to the
 * session: ssh_free() closes it. (ssh_disconnect() would not.) */
ssh_session ssh_session_new(int fd, const struct ssh_config *config,
                            const struct known_hosts *known, struct error *err);

/* Does libssh have at least one algorithm of each list in config? If not, err names the list.
 * muster never uses an algorithm that the user has excluded. */
bool ssh_session_can(const struct ssh_config *config, struct error *err);

#endif
