/* nonce.h - random words that cannot be guessed and that nothing else contains
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NONCE_H
#define MUSTER_NONCE_H

#include "frame.h"

/* Lower-case hex with its NUL. -1 if OpenSSL has no random numbers. */
int nonce_make(char nonce[FRAME_NONCE_CHARS + 1]);

#endif
