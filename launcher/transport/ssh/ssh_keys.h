/* ssh_keys.h - the private keys of the user, each read once for all connections
 *
 * The only state that connections share. It contains secrets, so it is freed with its last
 * user.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_KEYS_H
#define MUSTER_SSH_KEYS_H

#include <libssh/libssh.h>

enum ssh_key_state {
    SSH_KEY_USABLE,
    SSH_KEY_ABSENT,    /* no such file */
    SSH_KEY_ENCRYPTED, /* only the ssh agent can use it */
    SSH_KEY_SHARED,    /* others can read it: ssh ignores such a key */
    SSH_KEY_BAD,       /* not a private key that libssh can read, or a certificate for another */
};

/* Each user takes the store and drops it. */
void ssh_keys_take(void);
void ssh_keys_drop(void);

/* The key in path, together with the certificate in certificate unless that is
 * NULL. Borrowed; NULL unless the state is SSH_KEY_USABLE. */
ssh_key ssh_keys_get(const char *path, const char *certificate, enum ssh_key_state *state);

#endif
