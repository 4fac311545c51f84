/* judge_peers.c - judges the paths between nodes: which are reachable, over which interface and
 * MTU
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define FIREWALL                                                                                  \
    "open all TCP ports between the nodes: security group; sudo ufw status; "                     \
    "sudo nft list ruleset"
#define HANGS "hangs at init_process_group though ssh works"

/* Indexed by [from * count + to]. */
enum way { WAY_UNKNOWN, WAY_GOOD, WAY_FAILED, WAY_STALLED };

struct ways {
    enum way    *way;
    const char **why;
    size_t       count;
};

static void read_ways(const struct subjects *subjects, struct ways *ways);
static bool read_way(const struct subjects *subjects, const json_t *item, size_t *to);
static bool listens(const struct subject *subject);
static void judge_stalled(const struct subjects *subjects, const struct ways *ways,
                          struct findings *findings);
static void judge_failed(const struct subjects *subjects, const struct ways *ways,
                         struct findings *findings);
static bool is_all(const struct ways *ways, size_t node, bool to_it);
static void judge_interfaces(const struct subjects *subjects, struct findings *findings);
static void read_interfaces(const struct subject *subject, const char **one, const char **other,
                            json_int_t *mtu);
static void judge_mtu(const struct subjects *subjects, const json_int_t *mtu,
                      struct findings *findings);

void judge_peers(const struct subjects *subjects, struct findings *findings)
{
    struct ways ways = { .count = subjects->count };

    ways.way = xcalloc(ways.count * ways.count + 1, sizeof *ways.way);
    ways.why = xcalloc(ways.count * ways.count + 1, sizeof *ways.why);
    read_ways(subjects, &ways);
    judge_failed(subjects, &ways, findings);
    judge_stalled(subjects, &ways, findings);
    judge_interfaces(subjects, findings);
    free(ways.way);
    free(ways.why);
}

static void read_ways(const struct subjects *subjects, struct ways *ways)
{
    const json_t *peers, *item;
    size_t        from, to, i;

    for (from = 0; from < subjects->count; from++) {
        peers = json_object_get(subjects->node[from].facts, "peers");
        json_array_foreach(json_object_get(peers, "reached"), i, item)
            if (read_way(subjects, item, &to))
                ways->way[from * ways->count + to] = WAY_GOOD;
        json_array_foreach(json_object_get(peers, "failed"), i, item) {
            if (!read_way(subjects, item, &to) || !listens(&subjects->node[to]))
                continue;
            ways->way[from * ways->count + to] =
                json_is_true(json_object_get(item, "connected")) ? WAY_STALLED : WAY_FAILED;
            ways->why[from * ways->count + to] = judge_text(item, "why");
        }
    }
}

/* Does the node listen? False: another program took its port, so that no node could reach
 * it. */
static bool listens(const struct subject *subject)
{
    return !json_is_false(json_object_get(json_object_get(subject->facts, "peers"), "listens"));
}

static bool read_way(const struct subjects *subjects, const json_t *item, size_t *to)
{
    json_int_t node = json_integer_value(json_object_get(item, "node"));

    *to = (size_t)node;
    return node >= 0 && (size_t)node < subjects->count;
}

/* If all paths to or from a node fail, reports that once, about that node. */
static void judge_failed(const struct subjects *subjects, const struct ways *ways,
                         struct findings *findings)
{
    const struct subject *node = subjects->node;
    size_t                from, to;
    char                 *text;

    for (to = 0; to < ways->count; to++) {
        if (is_all(ways, to, true))
            findings_add(findings, (int)to, true, "network",
                         "no other node reaches its high TCP ports", HANGS, FIREWALL);
        if (is_all(ways, to, false) && !is_all(ways, to, true))
            findings_add(findings, (int)to, true, "network",
                         "it reaches no other node on high TCP ports", HANGS, FIREWALL);
    }
    for (from = 0; from < ways->count; from++) {
        for (to = 0; to < ways->count; to++) {
            if (ways->way[from * ways->count + to] != WAY_FAILED || is_all(ways, to, true) ||
                is_all(ways, from, false))
                continue;
            text = xasprintf("it cannot reach high TCP ports of %s: %s", node[to].host,
                             ways->why[from * ways->count + to]);
            findings_add(findings, (int)from, true, "network", text, HANGS, FIREWALL);
            free(text);
        }
    }
}

/* Have all known paths to (or from) the node failed, and at least two of them? With only two
 * nodes, one path to the node is enough. */
static bool is_all(const struct ways *ways, size_t node, bool to_it)
{
    size_t   i, failed = 0;
    enum way way;

    for (i = 0; i < ways->count; i++) {
        way = ways->way[to_it ? i * ways->count + node : node * ways->count + i];
        if (way == WAY_GOOD || way == WAY_STALLED)
            return false;
        failed += way == WAY_FAILED;
    }
    return failed >= 2 || (failed == 1 && ways->count == 2 && to_it);
}

static void judge_stalled(const struct subjects *subjects, const struct ways *ways,
                          struct findings *findings)
{
    bool  *stalled = xcalloc(ways->count, sizeof *stalled), any;
    size_t from, to;
    char  *hosts, *text;

    for (to = 0; to < ways->count; to++) {
        for (any = false, from = 0; from < ways->count; from++) {
            stalled[from] = ways->way[from * ways->count + to] == WAY_STALLED;
            any |= stalled[from];
        }
        if (!any)
            continue;
        hosts = judge_hosts(subjects, stalled);
        text = xasprintf("large packets from %s do not arrive, small ones do", hosts);
        findings_add(findings, (int)to, true, "network", text,
                     "init_process_group succeeds, and the first all_reduce hangs",
                     "use the same MTU on the whole path: ip link; ping -M do -s 1472 HOST");
        free(text);
        free(hosts);
    }
    free(stalled);
}

/* Each node should use one interface for all peers, and all nodes the same MTU. */
static void judge_interfaces(const struct subjects *subjects, struct findings *findings)
{
    json_int_t *mtu = xcalloc(subjects->count + 1, sizeof *mtu);
    const char *one, *other;
    char       *text;
    size_t      i;

    for (i = 0; i < subjects->count; i++) {
        read_interfaces(&subjects->node[i], &one, &other, &mtu[i]);
        if (strcmp(one, other) == 0)
            continue;
        text = xasprintf("it reaches some nodes over %s, others over %s", one, other);
        findings_add(findings, (int)i, false, "network", text,
                     "NCCL and Gloo use one interface "
                     "only",
                     "set NCCL_SOCKET_IFNAME, or put all nodes into one subnet");
        free(text);
    }
    judge_mtu(subjects, mtu, findings);
    free(mtu);
}

/* Reads the node's connections: the interface of the first, another interface if there is one,
 * and the MTU of the first. "" and 0: there are no connections. */
static void read_interfaces(const struct subject *subject, const char **one, const char **other,
                            json_int_t *mtu)
{
    const json_t *reached = json_object_get(json_object_get(subject->facts, "peers"), "reached");
    const json_t *item = json_array_get(reached, 0);
    size_t        i;

    *one = *other = judge_text(item, "if");
    *mtu = json_integer_value(json_object_get(item, "mtu"));
    json_array_foreach(reached, i, item)
        if (strcmp(judge_text(item, "if"), *one) != 0)
            *other = judge_text(item, "if");
}

/* Takes the MTU of most nodes as the right one. */
static void judge_mtu(const struct subjects *subjects, const json_int_t *mtu,
                      struct findings *findings)
{
    bool      *has = xcalloc(subjects->count + 1, sizeof *has);
    json_int_t right = 0;
    size_t     i, k, votes, most = 0;
    char      *hosts, *text;

    for (i = 0; i < subjects->count; i++) {
        for (votes = 0, k = 0; k < subjects->count; k++)
            votes += mtu[k] == mtu[i];
        if (mtu[i] <= 0 || votes <= most)
            continue;
        most = votes;
        right = mtu[i];
    }
    for (i = 0; i < subjects->count; i++)
        has[i] = mtu[i] == right;
    hosts = judge_hosts(subjects, has);
    for (i = 0; i < subjects->count; i++) {
        if (mtu[i] <= 0 || has[i])
            continue;
        text = xasprintf("MTU %lld, but %lld on %s", (long long)mtu[i], (long long)right, hosts);
        findings_add(findings, (int)i, false, "network", text,
                     "large messages are slow or hang, small ones work",
                     "sudo ip link set INTERFACE mtu N, with the same N on all nodes");
        free(text);
    }
    free(hosts);
    free(has);
}
