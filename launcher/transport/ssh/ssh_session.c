/* ssh_session.c - see ssh_session.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_session.h"

#include <stdbool.h>

#include "log.h"
#include "xalloc.h"

/* Ordered by speed as measured with libssh: hardware supports the AES modes, and a faster
 * cipher makes the output faster. sntrup761 would cost 50 ms of CPU per connection; libssh 0.10
 * does not have it, but newer versions may. */
#define CIPHERS "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com," \
                "aes256-ctr,aes192-ctr,aes128-ctr"
#define KEX "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256," \
            "ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group16-sha512," \
            "diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256," \
            "diffie-hellman-group14-sha256"

static int  set_allowed(ssh_session session, const struct ssh_config *config,
                        struct error *err);
static void set_preferred(ssh_session session, const struct ssh_config *config);

ssh_session ssh_session_new(int fd, const struct ssh_config *config,
                            const struct known_hosts *known, struct error *err)
{
    ssh_session session = ssh_new();
    bool        no = false;

    if (session == NULL)
        xalloc_die();
    ssh_set_blocking(session, 0);
    /* ssh_config.c has read the configuration. */
    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
    ssh_options_set(session, SSH_OPTIONS_COMPRESSION, "no");
    set_preferred(session, config);
    if (set_allowed(session, config, err) < 0)
        goto failed;
    known_hosts_prefer(known, session);
    if (ssh_options_set(session, SSH_OPTIONS_USER, config->user) == 0 &&
        ssh_options_set(session, SSH_OPTIONS_FD, &fd) == 0)
        return session;
    err_set(err, "libssh: %s", ssh_get_error(session));
failed:
    ssh_free(session);
    return NULL;
}

bool ssh_session_can(const struct ssh_config *config, struct error *err)
{
    ssh_session session = ssh_new();
    int         rc;

    if (session == NULL)
        xalloc_die();
    rc = set_allowed(session, config, err);
    ssh_free(session);
    return rc == 0;
}

static void set_preferred(ssh_session session, const struct ssh_config *config)
{
    if (config->ciphers == NULL) {
        ssh_options_set(session, SSH_OPTIONS_CIPHERS_C_S, CIPHERS);
        ssh_options_set(session, SSH_OPTIONS_CIPHERS_S_C, CIPHERS);
    }
    if (config->kex == NULL)
        ssh_options_set(session, SSH_OPTIONS_KEY_EXCHANGE, KEX);
}

/* libssh drops unknown names from a list, and refuses the list if none is left. */
static int set_allowed(ssh_session session, const struct ssh_config *config, struct error *err)
{
    const struct {
        enum ssh_options_e what;
        const char        *list, *name;
    } rows[] = {
        { SSH_OPTIONS_CIPHERS_C_S, config->ciphers, "Ciphers" },
        { SSH_OPTIONS_CIPHERS_S_C, config->ciphers, "Ciphers" },
        { SSH_OPTIONS_KEY_EXCHANGE, config->kex, "KexAlgorithms" },
        { SSH_OPTIONS_HMAC_C_S, config->macs, "MACs" },
        { SSH_OPTIONS_HMAC_S_C, config->macs, "MACs" },
        { SSH_OPTIONS_HOSTKEYS, config->host_keys, "HostKeyAlgorithms" },
        { SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, config->key_types, "PubkeyAcceptedAlgorithms" },
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].list != NULL && ssh_options_set(session, rows[i].what, rows[i].list) < 0)
            return err_set(err, "libssh supports none of %s %s", rows[i].name, rows[i].list);
#if LIBSSH_VERSION_INT >= SSH_VERSION_INT(0, 10, 0)
    if (config->rsa_bits > 0 &&
        ssh_options_set(session, SSH_OPTIONS_RSA_MIN_SIZE, &config->rsa_bits) < 0)
        return err_set(err, "libssh does not accept RequiredRSASize %d", config->rsa_bits);
#else
    if (config->rsa_bits > 1024)
        return err_set(err, "this libssh does not support RequiredRSASize");
#endif
    return 0;
}
