/* reach_judge.c - finds the node or pair that does not reach others; see reach.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/nodes/culprit.h"
#include "check/nodes/post.h"
#include "check/reach.h"
#include "check/nodes/reach_call.h"
#include "xalloc.h"

struct verdict {
    const struct roster *roster;
    struct pmi          *pmi;
    struct strlist      *lines;
    int                  nodes, round;
    int                 *why; /* [from * nodes + to] */
};

static int   read_failures(struct verdict *verdict, int node, struct error *err);
static void  add_nodes(const struct verdict *verdict, const struct culprits *culprits);
static void  add_links(const struct verdict *verdict, const struct culprits *culprits);
static char *address_of(const struct verdict *verdict, int node);
static const char *why_text(int why);

int reach_judge(const struct reach *reach, struct pmi *pmi, struct strlist *lines,
                struct error *err)
{
    const int      nodes = reach->roster->nodes;
    struct verdict verdict = { reach->roster, pmi, lines, nodes, reach->round,
                               xcalloc((size_t)nodes * (size_t)nodes, sizeof(int)) };
    bool          *bad = xcalloc((size_t)nodes * (size_t)nodes, sizeof *bad);
    struct culprits culprits;
    int             i, rc = 0;

    for (i = 0; i < nodes && rc == 0; i++)
        rc = read_failures(&verdict, i, err);
    for (i = 0; i < nodes * nodes; i++)
        bad[i] = verdict.why[i] != 0;
    if (rc == 0) {
        culprits_find(&culprits, bad, nodes);
        add_nodes(&verdict, &culprits);
        add_links(&verdict, &culprits);
        culprits_clear(&culprits);
    }
    free(bad);
    free(verdict.why);
    return rc;
}

/* Reads "NODE:ERRNO NODE:ERRNO ", as posted by reach_try(). */
static int read_failures(struct verdict *verdict, int node, struct error *err)
{
    const int leader = verdict->roster->leader[node];
    char      name[16], *text, *at, *end;
    long      to, why;

    snprintf(name, sizeof name, "reach%d", verdict->round);
    text = post_get(verdict->pmi, name, leader, err);
    if (text == NULL)
        return -1;
    for (at = text; *at != '\0'; at = end + (*end == ' ')) {
        to = strtol(at, &end, 10);
        why = *end == ':' ? strtol(end + 1, &end, 10) : 0;
        if (end == at || to < 0 || to >= verdict->nodes || why == 0)
            break; /* truncated at the end */
        verdict->why[node * verdict->nodes + to] = (int)why;
    }
    free(text);
    return 0;
}

static void add_nodes(const struct verdict *verdict, const struct culprits *culprits)
{
    const int nodes = verdict->nodes;
    int       node, peer, in, out, why;
    char     *address;

    for (node = 0; node < nodes; node++) {
        if (!culprits->node[node])
            continue;
        for (peer = in = out = why = 0; peer < nodes; peer++) {
            in += verdict->why[peer * nodes + node] != 0;
            out += verdict->why[node * nodes + peer] != 0;
            if (verdict->why[peer * nodes + node] != 0)
                why = verdict->why[peer * nodes + node];
        }
        address = address_of(verdict, node);
        if (in > 0)
            strlist_addf(verdict->lines, "%s cannot be reached at %s from %d of %d nodes: %s",
                         verdict->roster->name[node], address, in, nodes - 1,
                         why_text(why));
        else
            strlist_addf(verdict->lines, "%s at %s does not reach %d of %d nodes",
                         verdict->roster->name[node], address, out, nodes - 1);
        free(address);
    }
}

static void add_links(const struct verdict *verdict, const struct culprits *culprits)
{
    const int nodes = verdict->nodes;
    int       a, b, there, back;
    char     *of_a, *of_b;

    for (a = 0; a < nodes; a++) {
        for (b = a + 1; b < nodes; b++) {
            if (!culprits->link[a * nodes + b] && !culprits->link[b * nodes + a])
                continue;
            there = verdict->why[a * nodes + b];
            back = verdict->why[b * nodes + a];
            of_a = address_of(verdict, a);
            of_b = address_of(verdict, b);
            if (there != 0 && back != 0)
                strlist_addf(verdict->lines, "%s at %s and %s at %s do not reach each other: %s",
                             verdict->roster->name[a], of_a,
                             verdict->roster->name[b], of_b, why_text(there));
            else
                strlist_addf(verdict->lines,
                             "%s does not reach %s at %s, although the reverse works: %s",
                             verdict->roster->name[there != 0 ? a : b],
                             verdict->roster->name[there != 0 ? b : a],
                             there != 0 ? of_b : of_a, why_text(there != 0 ? there : back));
            free(of_a);
            free(of_b);
        }
    }
}

/* Returns "10.0.0.3 (eth0)"; the caller frees it. */
static char *address_of(const struct verdict *verdict, int node)
{
    struct error err;
    char         name[16], *text, *address;
    const char  *iface;

    snprintf(name, sizeof name, "listen%d", verdict->round);
    text = post_get(verdict->pmi, name, verdict->roster->leader[node], &err);
    iface = text != NULL ? strrchr(text, ' ') : NULL;
    address = xasprintf("%.*s (%s)", text != NULL ? (int)strcspn(text, " ") : 1,
                        text != NULL ? text : "?", iface != NULL ? iface + 1 : "?");
    free(text);
    return address;
}

static const char *why_text(int why)
{
    switch (why) {
    case REACH_SOMEBODY_ELSE:
        return "another program or host answers; do two nodes have this address?";
    case REACH_NO_DATA:
        return "it connects, but large packets do not arrive; compare the MTU of the "
               "interfaces and of the network between them";
    default:
        return strerror(why);
    }
}
