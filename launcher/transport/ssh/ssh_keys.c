/* ssh_keys.c - see ssh_keys.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "frame.h"
#include "xalloc.h"

struct stored_key {
    char              *path, *certificate;
    ssh_key            key;
    enum ssh_key_state state;
};

static struct {
    struct stored_key *entry;
    size_t             count, users;
} store;

static bool           is_same(const char *one, const char *other);
static void           read_key(struct stored_key *stored);
static bool           is_file(const char *path);
static bool           is_shared(const char *path);
static int            refuse_passphrase(const char *prompt, char *buf, size_t size, int echo,
                                        int verify, void *asked);
static void           add_certificate(struct stored_key *stored);
static bool           is_for(ssh_key certificate, ssh_key key);
static unsigned char *public_part(ssh_key key, size_t *size);
static size_t         string_end(const unsigned char *bytes, size_t size, size_t from);

void ssh_keys_take(void)
{
    store.users++;
}

void ssh_keys_drop(void)
{
    size_t i;

    if (--store.users > 0)
        return;
    for (i = 0; i < store.count; i++) {
        free(store.entry[i].path);
        free(store.entry[i].certificate);
        ssh_key_free(store.entry[i].key); /* wipes it */
    }
    free(store.entry);
    store.entry = NULL;
    store.count = 0;
}

ssh_key ssh_keys_get(const char *path, const char *certificate, enum ssh_key_state *state)
{
    struct stored_key *stored;
    size_t             i;

    for (i = 0; i < store.count; i++) {
        stored = &store.entry[i];
        if (strcmp(stored->path, path) == 0 && is_same(stored->certificate, certificate)) {
            *state = stored->state;
            return stored->key;
        }
    }
    store.entry = xreallocarray(store.entry, store.count + 1, sizeof *store.entry);
    stored = &store.entry[store.count++];
    *stored = (struct stored_key){ .path = xstrdup(path) };
    if (certificate != NULL)
        stored->certificate = xstrdup(certificate);
    read_key(stored);
    *state = stored->state;
    return stored->key;
}

static bool is_same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static void read_key(struct stored_key *stored)
{
    bool asked = false;
    int  rc;

    if (!is_file(stored->path) || !is_file(stored->certificate)) {
        stored->state = SSH_KEY_BAD;
        return;
    }
    if (is_shared(stored->path)) {
        stored->state = SSH_KEY_SHARED;
        return;
    }
    rc = ssh_pki_import_privkey_file(stored->path, NULL, refuse_passphrase, &asked, &stored->key);
    if (rc == SSH_OK && stored->certificate != NULL)
        add_certificate(stored);
    else if (rc == SSH_OK)
        stored->state = SSH_KEY_USABLE;
    else
        stored->state = rc == SSH_EOF ? SSH_KEY_ABSENT
                        : asked       ? SSH_KEY_ENCRYPTED
                                      : SSH_KEY_BAD;
}

/* Is path a regular file or missing? libssh would open a pipe and wait for a writer. */
static bool is_file(const char *path)
{
    struct stat about;

    return path == NULL || stat(path, &about) < 0 || S_ISREG(about.st_mode);
}

/* Can others read the file? As in ssh, this applies only to our own files. */
static bool is_shared(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && about.st_uid == getuid() && (about.st_mode & 077) != 0;
}

static int refuse_passphrase(const char *prompt, char *buf, size_t size, int echo, int verify,
                             void *asked)
{
    (void)prompt;
    (void)buf;
    (void)size;
    (void)echo;
    (void)verify;
    *(bool *)asked = true;
    return -1;
}

static void add_certificate(struct stored_key *stored)
{
    ssh_key certificate = NULL;
    int     rc = ssh_pki_import_cert_file(stored->certificate, &certificate);

    if (rc == SSH_OK && is_for(certificate, stored->key) &&
        ssh_pki_copy_cert_to_privkey(certificate, stored->key) == SSH_OK) {
        stored->state = SSH_KEY_USABLE;
    } else {
        stored->state = rc == SSH_EOF ? SSH_KEY_ABSENT : SSH_KEY_BAD;
        ssh_key_free(stored->key);
        stored->key = NULL;
    }
    ssh_key_free(certificate);
}

/* Is the certificate for this key? (RFC 4253, section 6.6, and OpenSSH's PROTOCOL.certkeys:
 * both begin with a type; in a certificate a nonce follows; then both have the key itself.) */
static bool is_for(ssh_key certificate, ssh_key key)
{
    size_t         size, all;
    unsigned char *whole = public_part(certificate, &all), *part = public_part(key, &size);
    size_t         from = string_end(whole, all, string_end(whole, all, 0));
    size_t         key_from = string_end(part, size, 0);
    bool           is_it = key_from < size && size - key_from <= all - from &&
                 memcmp(whole + from, part + key_from, size - key_from) == 0;

    free(whole);
    free(part);
    return is_it;
}

/* Returns the public key in wire format; *size is 0 if libssh cannot export it. */
static unsigned char *public_part(ssh_key key, size_t *size)
{
    char          *base64 = NULL;
    unsigned char *bytes;
    size_t         length;
    int            decoded;

    *size = 0;
    if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK)
        return xcalloc(1, 1);
    length = strlen(base64);
    bytes = xcalloc(1, length + 1); /* longer than the decoded key */
    decoded = EVP_DecodeBlock(bytes, (const unsigned char *)base64, (int)length);
    if (decoded > 0)
        *size = (size_t)decoded - (length - strcspn(base64, "="));
    ssh_string_free_char(base64);
    return bytes;
}

/* Returns the end of the string at from; size if the string does not end before that. */
static size_t string_end(const unsigned char *bytes, size_t size, size_t from)
{
    if (size - from < 4 || size - from - 4 < get_u32(bytes + from))
        return size;
    return from + 4 + get_u32(bytes + from);
}
