/* authorized_key.h - public keys in the authorized_keys of an account
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_AUTHORIZED_KEY_H
#define MUSTER_AGENT_AUTHORIZED_KEY_H

#include "bootstrap/bootstrap.h"

struct key_owner {
    const char *home; /* it need not exist yet */
    uid_t       uid;  /* of new files */
    gid_t       gid;
    bool        has_other_rights; /* another account than the login: its links are not followed */
};

/* Adds what is missing so that sshd(8) accepts these keys (an array of lines): HOME/.ssh, each key
 * once in HOME/.ssh/authorized_keys, and modes that sshd takes. why is for people. -1 with err. */
int authorized_key_add(struct finding *finding, const struct key_owner *owner, const json_t *keys,
                       const char *why, struct error *err);

#endif
