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
    SSH_KEY_BAD,       /* libssh cannot read it, or the certificate is for another key */
};

/* Each user of the keys calls ssh_keys_take() first and ssh_keys_drop() at the end. */
void ssh_keys_take(void);
void ssh_keys_drop(void);

/* Returns the key in the file path, with the certificate in the file certificate unless that is
 * NULL. Borrowed; NULL unless the state is SSH_KEY_USABLE. */
ssh_key ssh_keys_get(const char *path, const char *certificate, enum ssh_key_state *state);

#endif
