/* fnv.h - FNV-1a in 64 bits: detects a difference, unless an attacker hides it
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FNV_H
#define MUSTER_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(14695981039346656037)

/* hash is FNV_START, or the result for the bytes before these. */
static inline uint64_t fnv_add(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (; size > 0; size--)
        hash = (hash ^ *at++) * UINT64_C(1099511628211);
    return hash;
}

#endif
