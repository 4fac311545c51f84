/* siphash.h - SipHash-2-4 with 128 bits: a code that only the holders of a key can compute
 *
 * By Aumasson and Bernstein, for short messages. It is here because nothing else of muster-train
 * needs libcrypto, whose 5 MB `muster check` would have to send to each node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIPHASH_H
#define MUSTER_SIPHASH_H

#include <stddef.h>

#define SIPHASH_KEY  16
#define SIPHASH_CODE 16

/* Fills code with the code of these bytes under the key. bytes may be NULL if there are none. */
void siphash(const unsigned char key[SIPHASH_KEY], const void *bytes, size_t size,
             unsigned char code[SIPHASH_CODE]);

#endif
