/* nonce.c - see nonce.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/nonce.h"

#include <stdio.h>

#include <openssl/rand.h>

int nonce_make(char nonce[FRAME_NONCE_CHARS + 1])
{
    unsigned char random[FRAME_NONCE_CHARS / 2];
    size_t        i;

    if (RAND_bytes(random, sizeof random) != 1)
        return -1;
    for (i = 0; i < sizeof random; i++)
        snprintf(nonce + 2 * i, 3, "%02x", random[i]);
    return 0;
}
