/* judge_public.c - can machines other than the nodes reach MASTER_PORT?
 *
 * PyTorch's store, NCCL and Gloo listen on all addresses without authentication. So a public
 * address of the first node deserves a warning. We cannot see whether a firewall protects it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static bool is_public(const char *address);
static bool is_public_v6(const unsigned char *bytes);

void judge_public(const struct subjects *subjects, struct findings *findings)
{
    const json_t *list, *item;
    const char   *address;
    char         *text;
    size_t        i;

    if (subjects->count < 2 || subjects->is_one_machine)
        return;
    list = json_object_get(subjects->node[0].hello, "addresses");
    json_array_foreach(list, i, item) {
        address = judge_text(item, "addr");
        if (json_is_true(json_object_get(item, "loopback")) || !is_public(address))
            continue;
        text = xasprintf("its address %s is public, and MASTER_PORT listens on it", address);
        findings_add(findings, 0, false, "network", text,
                     "anyone who can reach that port can stop the run or join it",
                     "let the security group open the high ports only to the nodes");
        free(text);
        return;
    }
}

/* Is it public? Not if it is reserved for private networks (RFC 1918, 6598, 3927) or
 * loopback. */
static bool is_public(const char *address)
{
    static const struct {
        uint32_t network;
        int      bits;
    } own[] = {
        { 0x00000000, 8 },  { 0x0a000000, 8 },  { 0x64400000, 10 }, { 0x7f000000, 8 },
        { 0xa9fe0000, 16 }, { 0xac100000, 12 }, { 0xc0a80000, 16 }, { 0xe0000000, 3 },
    };
    struct in_addr  v4;
    struct in6_addr v6;
    size_t          i;

    if (inet_pton(AF_INET6, address, &v6) == 1)
        return is_public_v6(v6.s6_addr);
    if (inet_pton(AF_INET, address, &v4) != 1)
        return false;
    for (i = 0; i < sizeof own / sizeof *own; i++)
        if ((ntohl(v4.s_addr) ^ own[i].network) >> (32 - own[i].bits) == 0)
            return false;
    return true;
}

/* 2000::/3 contains all global addresses assigned so far. */
static bool is_public_v6(const unsigned char *bytes)
{
    return bytes[0] >> 5 == 1;
}
