/* node_address.c - see node_address.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/node_address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool may_be_of_peers(const json_t *address);
static bool is_in(const char *address, const char *network);

const char *node_address_choose(const json_t *addresses, const char *host, const char *network)
{
    static const char *const private[] = { "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16" };
    const json_t            *one;
    const char              *best = NULL, *text;
    size_t                   i, k;
    int                      rank, best_rank = 0;

    json_array_foreach(addresses, i, one) {
        text = json_string_value(json_object_get(one, "addr"));
        if (text == NULL || !may_be_of_peers(one))
            continue;
        rank = 1;
        for (k = 0; k < sizeof private / sizeof *private; k++)
            rank = is_in(text, private[k]) ? 2 : rank;
        if (host != NULL && strcmp(text, host) == 0)
            rank = 3;
        if (network != NULL)
            rank = is_in(text, network) ? 4 : 0;
        if (rank > best_rank) {
            best_rank = rank;
            best = text;
        }
    }
    return best;
}

static bool may_be_of_peers(const json_t *address)
{
    static const char *const bridges[] = { "lo", "docker", "br-", "virbr", "veth", "cni", "flannel",
                                           "cali", "tailscale" };
    const char              *name = json_string_value(json_object_get(address, "if"));
    size_t                   i;

    if (json_is_true(json_object_get(address, "loopback")))
        return false;
    for (i = 0; name != NULL && i < sizeof bridges / sizeof *bridges; i++)
        if (strncmp(name, bridges[i], strlen(bridges[i])) == 0)
            return false;
    return true;
}

/* Is address in network? network is valid: bootstrap_conf.c has checked it. */
static bool is_in(const char *address, const char *network)
{
    struct in_addr one, other;
    char           text[INET_ADDRSTRLEN];
    const char    *slash = strchr(network, '/');
    int            bits = slash != NULL ? atoi(slash + 1) : 32;
    uint32_t       mask = bits <= 0 ? 0 : UINT32_MAX << (32 - bits);

    snprintf(text, sizeof text, "%.*s", (int)strcspn(network, "/"), network);
    return inet_pton(AF_INET, address, &one) == 1 && inet_pton(AF_INET, text, &other) == 1 &&
           (ntohl(one.s_addr) & mask) == (ntohl(other.s_addr) & mask);
}

bool node_address_is_numeric(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}
