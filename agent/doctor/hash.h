/* hash.h - is the content of files the same on two nodes?
 *
 * FNV-1a: enough to notice a difference, not to keep somebody from hiding one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_HASH_H
#define MUSTER_AGENT_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t hash_of(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t             hash = 0xcbf29ce484222325u;

    for (; size > 0; size--)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

#endif
