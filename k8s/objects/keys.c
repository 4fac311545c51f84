/* keys.c - see keys.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "objects/keys.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "xalloc.h"

#define RAW_BYTES   32 /* of each half of an Ed25519 key */
#define BLOB_BYTES  512
#define LINE_LETTERS 70

/* A private key in OpenSSH's format, before base64; see PROTOCOL.key of OpenSSH. */
struct blob {
    unsigned char bytes[BLOB_BYTES];
    size_t        size;
};

static int  key_make(struct key *key, struct error *err);
static void key_clear(struct key *key);
static void wipe(char *text);
static void put_private(struct blob *blob, const unsigned char *secret, const unsigned char *public,
                        const unsigned char *check);
static void put_public(struct blob *blob, const unsigned char *public);
static void put(struct blob *blob, const void *bytes, size_t size);
static void put_number(struct blob *blob, uint32_t number);
static void put_string(struct blob *blob, const void *bytes, size_t size);
static char *armor(const struct blob *blob);
static char *base64(const struct blob *blob);

int keys_make(struct keys *keys, size_t hosts, struct error *err)
{
    *keys = (struct keys){ .host = xcalloc(hosts, sizeof *keys->host) };
    if (key_make(&keys->user, err) < 0)
        goto failed;
    for (; keys->hosts < hosts; keys->hosts++)
        if (key_make(&keys->host[keys->hosts], err) < 0)
            goto failed;
    return 0;
failed:
    keys_clear(keys);
    return -1;
}

void keys_clear(struct keys *keys)
{
    size_t i;

    key_clear(&keys->user);
    for (i = 0; i < keys->hosts; i++)
        key_clear(&keys->host[i]);
    free(keys->host);
    *keys = (struct keys){ 0 };
}

static int key_make(struct key *key, struct error *err)
{
    unsigned char secret[RAW_BYTES], public[RAW_BYTES], check[4];
    size_t        secret_size = sizeof secret, public_size = sizeof public;
    EVP_PKEY     *pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    struct blob   blob = { .size = 0 };
    char         *text;
    int           rc = -1;

    if (pair == NULL || EVP_PKEY_get_raw_private_key(pair, secret, &secret_size) != 1 ||
        EVP_PKEY_get_raw_public_key(pair, public, &public_size) != 1 ||
        RAND_bytes(check, sizeof check) != 1) {
        err_set(err, "OpenSSL could not make an Ed25519 key");
        goto out;
    }
    put_private(&blob, secret, public, check);
    key->private_text = armor(&blob);
    blob.size = 0;
    put_public(&blob, public);
    text = base64(&blob);
    key->public_text = xasprintf("ssh-ed25519 %s", text);
    free(text);
    rc = 0;
out:
    EVP_PKEY_free(pair);
    OPENSSL_cleanse(secret, sizeof secret);
    OPENSSL_cleanse(&blob, sizeof blob);
    return rc;
}

static void key_clear(struct key *key)
{
    wipe(key->private_text);
    free(key->public_text);
    *key = (struct key){ 0 };
}

static void wipe(char *text)
{
    if (text != NULL)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

static void put_private(struct blob *blob, const unsigned char *secret, const unsigned char *public,
                        const unsigned char *check)
{
    struct blob   inner = { .size = 0 };
    unsigned char pad = 1, both[2 * RAW_BYTES];

    memcpy(both, secret, RAW_BYTES);
    memcpy(both + RAW_BYTES, public, RAW_BYTES);
    put(&inner, check, 4);
    put(&inner, check, 4);
    put_string(&inner, "ssh-ed25519", 11);
    put_string(&inner, public, RAW_BYTES);
    put_string(&inner, both, sizeof both);
    put_string(&inner, "muster", 6);
    for (; inner.size % 8 != 0; pad++)
        put(&inner, &pad, 1);

    put(blob, "openssh-key-v1", 15); /* with its NUL */
    put_string(blob, "none", 4);     /* cipher */
    put_string(blob, "none", 4);     /* key derivation */
    put_string(blob, "", 0);
    put_number(blob, 1);
    put_number(blob, 4 + 11 + 4 + RAW_BYTES);
    put_public(blob, public);
    put_string(blob, inner.bytes, inner.size);
    OPENSSL_cleanse(&inner, sizeof inner);
    OPENSSL_cleanse(both, sizeof both);
}

static void put_public(struct blob *blob, const unsigned char *public)
{
    put_string(blob, "ssh-ed25519", 11);
    put_string(blob, public, RAW_BYTES);
}

static void put(struct blob *blob, const void *bytes, size_t size)
{
    memcpy(blob->bytes + blob->size, bytes, size);
    blob->size += size;
}

static void put_number(struct blob *blob, uint32_t number)
{
    unsigned char bytes[4] = { (unsigned char)(number >> 24), (unsigned char)(number >> 16),
                               (unsigned char)(number >> 8), (unsigned char)number };

    put(blob, bytes, 4);
}

static void put_string(struct blob *blob, const void *bytes, size_t size)
{
    put_number(blob, (uint32_t)size);
    put(blob, bytes, size);
}

static char *armor(const struct blob *blob)
{
    static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
    static const char end[] = "-----END OPENSSH PRIVATE KEY-----\n";
    char             *text = base64(blob);
    size_t            length = strlen(text), at, part;
    char *whole = xmalloc(sizeof begin + sizeof end + length + length / LINE_LETTERS + 2);
    char             *to = stpcpy(whole, begin);

    for (at = 0; at < length; at += part) {
        part = length - at < LINE_LETTERS ? length - at : LINE_LETTERS;
        to = mempcpy(to, text + at, part);
        *to++ = '\n';
    }
    stpcpy(to, end);
    wipe(text);
    return whole;
}

static char *base64(const struct blob *blob)
{
    char *text = xmalloc((blob->size + 2) / 3 * 4 + 1);

    EVP_EncodeBlock((unsigned char *)text, blob->bytes, (int)blob->size);
    return text;
}
