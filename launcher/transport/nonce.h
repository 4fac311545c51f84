/* nonce.h - random words that cannot be guessed and occur nowhere else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NONCE_H
#define MUSTER_NONCE_H

#include "frame.h"

/* Writes lower-case hex with its NUL. Returns -1 if OpenSSL has no random numbers. */
int nonce_make(char nonce[FRAME_NONCE_CHARS + 1]);

#endif
