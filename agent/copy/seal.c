/* seal.c - see seal.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/seal.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "frame.h"
#include "xalloc.h"

#define SIZE_BYTES  4
#define NONCE_BYTES 12
/* run, link, direction, number, size */
#define BOUND_BYTES (SEAL_RUN_BYTES + 4 + 1 + 8 + 4)

static void derive(const struct seal_link *link, enum seal_direction direction,
                   const unsigned char *ask, const unsigned char *answer,
                   unsigned char key[SEAL_KEY_BYTES]);
static void begin_message(struct seal *seal, size_t size, bool is_sealing);
static void must(int rc);

void seal_random(unsigned char random[SEAL_RANDOM_BYTES])
{
    must(RAND_bytes(random, SEAL_RANDOM_BYTES));
}

void seal_begin(struct seal *seal, const struct seal_link *link, enum seal_direction direction,
                bool is_sealing, const unsigned char ask[SEAL_RANDOM_BYTES],
                const unsigned char answer[SEAL_RANDOM_BYTES])
{
    unsigned char key[SEAL_KEY_BYTES];

    *seal = (struct seal){ .context = EVP_CIPHER_CTX_new(), .link = link->number,
                           .direction = direction };
    memcpy(seal->run, link->run, sizeof seal->run);
    derive(link, direction, ask, answer, key);
    must(seal->context != NULL &&
         EVP_CipherInit_ex(seal->context, EVP_aes_256_gcm(), NULL, key, NULL, is_sealing));
    OPENSSL_cleanse(key, sizeof key);
}

static void derive(const struct seal_link *link, enum seal_direction direction,
                   const unsigned char *ask, const unsigned char *answer,
                   unsigned char key[SEAL_KEY_BYTES])
{
    static const char label[] = "muster bcast 1";
    unsigned char     text[sizeof label + SEAL_RUN_BYTES + 4 + 1 + 2 * SEAL_RANDOM_BYTES];
    unsigned char    *at = text;

    memcpy(at, label, sizeof label);
    at += sizeof label;
    memcpy(at, link->run, SEAL_RUN_BYTES);
    at += SEAL_RUN_BYTES;
    put_u32(at, link->number);
    at += 4;
    *at++ = (unsigned char)direction;
    memcpy(at, ask, SEAL_RANDOM_BYTES);
    memcpy(at + SEAL_RANDOM_BYTES, answer, SEAL_RANDOM_BYTES);
    must(HMAC(EVP_sha256(), link->key, SEAL_KEY_BYTES, text, sizeof text, key, NULL) != NULL);
}

void seal_end(struct seal *seal)
{
    EVP_CIPHER_CTX_free(seal->context);
    *seal = (struct seal){ 0 };
}

int seal_put(struct seal *seal, struct evbuffer *out, const void *head, size_t head_size,
             const void *body, size_t body_size, struct error *err)
{
    size_t                size = head_size + body_size;
    struct evbuffer_iovec room;
    unsigned char        *at;
    int                   length;

    if (seal->number == SEAL_MESSAGES_MAX || size > SEAL_MESSAGE_MAX)
        return err_set(err, "too many messages, or one that is too large");
    if (evbuffer_reserve_space(out, (ev_ssize_t)(SIZE_BYTES + size + SEAL_TAG_BYTES), &room, 1) !=
        1)
        xalloc_die();
    at = room.iov_base;
    begin_message(seal, size, true);
    put_u32(at, (uint32_t)size);
    at += SIZE_BYTES;
    must(EVP_EncryptUpdate(seal->context, at, &length, head, (int)head_size));
    at += head_size;
    if (body_size > 0)
        must(EVP_EncryptUpdate(seal->context, at, &length, body, (int)body_size));
    at += body_size;
    must(EVP_EncryptFinal_ex(seal->context, at, &length));
    must(EVP_CIPHER_CTX_ctrl(seal->context, EVP_CTRL_GCM_GET_TAG, SEAL_TAG_BYTES, at));
    room.iov_len = SIZE_BYTES + size + SEAL_TAG_BYTES;
    if (evbuffer_commit_space(out, &room, 1) < 0)
        xalloc_die();
    return 0;
}

/* Uses the next number, whatever happens to this message. */
static void begin_message(struct seal *seal, size_t size, bool is_sealing)
{
    unsigned char nonce[NONCE_BYTES] = { 0 }, bound[BOUND_BYTES], *at = bound;
    int           length;

    put_u64(nonce + 4, seal->number);
    memcpy(at, seal->run, SEAL_RUN_BYTES);
    at += SEAL_RUN_BYTES;
    put_u32(at, seal->link);
    at[4] = (unsigned char)seal->direction;
    put_u64(at + 5, seal->number);
    put_u32(at + 13, (uint32_t)size);
    seal->number++;
    must(EVP_CipherInit_ex(seal->context, NULL, NULL, NULL, nonce, is_sealing));
    must(EVP_CipherUpdate(seal->context, NULL, &length, bound, sizeof bound));
}

int seal_take(struct seal *seal, struct evbuffer *in, unsigned char *message, size_t *size,
              struct error *err)
{
    size_t         have = evbuffer_get_length(in), whole;
    unsigned char  header[SIZE_BYTES];
    unsigned char *wire = header;
    int            rc;

    if (evbuffer_copyout(in, header, sizeof header) < (ev_ssize_t)sizeof header)
        return 0;
    whole = seal_wire_bytes(get_u32(header));
    if (whole > SEAL_WIRE_MAX || have < whole)
        have = sizeof header; /* its size may already be impossible */
    else if ((wire = evbuffer_pullup(in, (ev_ssize_t)whole)) == NULL)
        xalloc_die();
    rc = seal_open(seal, wire, have, message, size, err);
    if (rc > 0)
        evbuffer_drain(in, whole);
    return rc;
}

int seal_open(struct seal *seal, const unsigned char *wire, size_t have, unsigned char *message,
              size_t *size, struct error *err)
{
    const unsigned char *sealed = wire + SIZE_BYTES;
    unsigned char        tag[SEAL_TAG_BYTES];
    int                  length;

    if (have < SIZE_BYTES)
        return 0;
    *size = get_u32(wire);
    if (*size == 0 || *size > SEAL_MESSAGE_MAX || seal->number == SEAL_MESSAGES_MAX)
        return err_set(err, "a message of an impossible size, or too many");
    if (have < seal_wire_bytes(*size))
        return 0;
    memcpy(tag, sealed + *size, sizeof tag);
    begin_message(seal, *size, false);
    if (EVP_DecryptUpdate(seal->context, message, &length, sealed, (int)*size) == 1 &&
        EVP_CIPHER_CTX_ctrl(seal->context, EVP_CTRL_GCM_SET_TAG, SEAL_TAG_BYTES, tag) == 1 &&
        EVP_DecryptFinal_ex(seal->context, message + length, &length) == 1)
        return 1;
    return err_set(err, "the message is not the next one of the other end");
}

/* libcrypto fails here only for lack of memory or random numbers. */
static void must(int rc)
{
    if (rc != 1)
        xalloc_die();
}

bool seal_read_hex(const char *hex, unsigned char *bytes, size_t size)
{
    unsigned byte;
    size_t   i;

    if (hex == NULL || strlen(hex) != 2 * size || strspn(hex, "0123456789abcdef") != 2 * size)
        return false;
    for (i = 0; i < size; i++) {
        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
    }
    return true;
}
