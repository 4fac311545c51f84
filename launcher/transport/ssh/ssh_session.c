/* ssh_session.c - see ssh_session.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_session.h"

#include <stdbool.h>

#include "log.h"
#include "xalloc.h"

/* As measured with libssh: the AES modes are in hardware, and the faster the cipher the faster
 * the output. sntrup761 would cost 50 ms of CPU per connection; libssh 0.10 does not have it, but
 * newer ones may. */
#define CIPHERS "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com," \
                "aes256-ctr,aes192-ctr,aes128-ctr"
#define KEX "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256," \
            "ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group16-sha512," \
            "diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256," \
            "diffie-hellman-group14-sha256"

static void set_algorithms(ssh_session session, enum ssh_options_e what, const char *list);

ssh_session ssh_session_new(int fd, const struct ssh_config *config,
                            const struct known_hosts *known, struct error *err)
{
    ssh_session session = ssh_new();
    bool        no = false;

    if (session == NULL)
        xalloc_die();
    ssh_set_blocking(session, 0);
    /* ssh_config.c has read it. */
    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
    ssh_options_set(session, SSH_OPTIONS_COMPRESSION, "no");
    set_algorithms(session, SSH_OPTIONS_CIPHERS_C_S, CIPHERS);
    set_algorithms(session, SSH_OPTIONS_CIPHERS_S_C, CIPHERS);
    set_algorithms(session, SSH_OPTIONS_KEY_EXCHANGE, KEX);
    set_algorithms(session, SSH_OPTIONS_CIPHERS_C_S, config->ciphers);
    set_algorithms(session, SSH_OPTIONS_CIPHERS_S_C, config->ciphers);
    set_algorithms(session, SSH_OPTIONS_KEY_EXCHANGE, config->kex);
    set_algorithms(session, SSH_OPTIONS_HMAC_C_S, config->macs);
    set_algorithms(session, SSH_OPTIONS_HMAC_S_C, config->macs);
    set_algorithms(session, SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, config->key_types);
    if (config->host_keys != NULL)
        set_algorithms(session, SSH_OPTIONS_HOSTKEYS, config->host_keys);
    else
        known_hosts_prefer(known, session);
    if (ssh_options_set(session, SSH_OPTIONS_USER, config->user) < 0 ||
        ssh_options_set(session, SSH_OPTIONS_FD, &fd) < 0) {
        err_set(err, "libssh: %s", ssh_get_error(session));
        ssh_free(session);
        return NULL;
    }
    return session;
}

/* libssh refuses an algorithm list of which it knows no entry: then its own defaults stay. */
static void set_algorithms(ssh_session session, enum ssh_options_e what, const char *list)
{
    if (list != NULL && ssh_options_set(session, what, list) < 0)
        log_debug("libssh knows none of %s", list);
}
