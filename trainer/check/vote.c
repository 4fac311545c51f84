/* vote.c - see vote.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/vote.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/nodes/post.h"
#include "xalloc.h"

static int  read_vote(struct vote *vote, struct pmi *pmi, const char *name, int rank,
                      struct error *err);
static void tell(const struct vote *votes, const struct roster *roster, struct strlist *lines,
                 bool ours);
static int  first_with(const struct vote *votes, int rank, bool ours);
static int  node_of(const char *mapping, int rank);

int votes_exchange(struct vote *votes, struct pmi *pmi, const char *name, struct error *err)
{
    const struct vote *own = &votes[pmi->rank];
    char               text[POST_MAX];
    int                rank;

    snprintf(text, sizeof text, "%d %d %s", own->status, own->is_ours, own->text);
    if (post_put(pmi, name, text, err) < 0 || pmi_barrier(pmi, err) < 0)
        return -1;
    for (rank = 0; rank < pmi->size; rank++)
        if (rank != pmi->rank && read_vote(&votes[rank], pmi, name, rank, err) < 0)
            return -1;
    return 0;
}

static int read_vote(struct vote *vote, struct pmi *pmi, const char *name, int rank,
                     struct error *err)
{
    char *text = post_get(pmi, name, rank, err);
    int   ours, at = 0;

    if (text == NULL)
        return -1;
    if (sscanf(text, "%d %d %n", &vote->status, &ours, &at) == 2 && at > 0) {
        vote->is_ours = ours != 0;
        vote->text = xstrdup(text + at);
    }
    free(text);
    return at > 0 ? 0 : err_set(err, "the text of rank %d for %s cannot be parsed", rank, name);
}

void votes_clear(struct vote *votes, int ranks)
{
    int rank;

    for (rank = 0; rank < ranks; rank++)
        free(votes[rank].text);
    free(votes);
}

int votes_status(const struct vote *votes, int ranks)
{
    int rank, waiting = 0;

    for (rank = 0; rank < ranks; rank++) {
        if (votes[rank].status != 0 && votes[rank].is_ours)
            return votes[rank].status;
        if (votes[rank].status != 0 && waiting == 0)
            waiting = votes[rank].status;
    }
    return waiting;
}

void votes_tell(const struct vote *votes, const struct roster *roster, struct strlist *lines)
{
    const size_t before = lines->count;

    tell(votes, roster, lines, true);
    if (lines->count == before)
        tell(votes, roster, lines, false);
}

static void tell(const struct vote *votes, const struct roster *roster, struct strlist *lines,
                 bool ours)
{
    int rank, other, same;

    for (rank = 0; rank < roster->size; rank++) {
        if (votes[rank].status == 0 || votes[rank].is_ours != ours ||
            votes[rank].text[0] == '\0' || first_with(votes, rank, ours) != rank)
            continue;
        for (other = rank + 1, same = 0; other < roster->size; other++)
            same += votes[other].status != 0 && votes[other].is_ours == ours &&
                    strcmp(votes[other].text, votes[rank].text) == 0;
        if (same == 0)
            strlist_addf(lines, "%s: %s", roster->label[rank], votes[rank].text);
        else
            strlist_addf(lines, "%s and %d more: %s", roster->label[rank], same,
                         votes[rank].text);
    }
}

static int first_with(const struct vote *votes, int rank, bool ours)
{
    int i = 0;

    while (votes[i].status == 0 || votes[i].is_ours != ours ||
           strcmp(votes[i].text, votes[rank].text) != 0)
        i++;
    return i;
}

/* Before a barrier, PMI returns only the values of this node's ranks; the others come with the
 * barrier. */
void votes_missing(struct pmi *pmi, const char *key, char *text, size_t size)
{
    char   mapping[PMI_LINE_MAX], value[PMI_LINE_MAX], name[64];
    size_t used = 0;
    int    rank, here;

    *text = '\0';
    if (pmi_get(pmi, "PMI_process_mapping", mapping, sizeof mapping, NULL) < 0)
        return;
    here = node_of(mapping, pmi->rank);
    for (rank = 0; rank < pmi->size && here >= 0; rank++) {
        if (rank == pmi->rank || node_of(mapping, rank) != here)
            continue;
        snprintf(name, sizeof name, "%s-%d", key, rank);
        if (pmi_get(pmi, name, value, sizeof value, NULL) == 0)
            continue;
        snprintf(name, sizeof name, "%s-%d.0", key, rank);
        if (pmi_get(pmi, name, value, sizeof value, NULL) < 0 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%srank %d", used > 0 ? ", " : "",
                                     rank);
    }
}

/* Returns a rank's node by a mapping such as "(vector,(0,2,4),(2,1,3))": from node 0 on, 2
 * nodes with 4 ranks each, then node 2 with 3 ranks. The mapping repeats for more ranks. -1:
 * invalid. */
static int node_of(const char *mapping, int rank)
{
    const char *at = mapping;
    int         node, nodes, ranks, blocks = 0;

    for (;;) {
        at = strchr(at + 1, '(');
        if (at == NULL && blocks == 0)
            return -1;
        if (at == NULL) {
            at = mapping;
            blocks = 0;
            continue;
        }
        if (sscanf(at, "(%d,%d,%d)", &node, &nodes, &ranks) != 3 || nodes < 1 ||
            ranks < 1 || nodes > INT_MAX / ranks)
            return -1;
        if (rank < nodes * ranks)
            return node + rank / ranks;
        rank -= nodes * ranks;
        blocks++;
    }
}
