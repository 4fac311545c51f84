/* vote.h - the ranks exchange through PMI whether a step succeeded
 *
 * The network under test may be broken, but PMI works: it uses the launcher's connections.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_VOTE_H
#define MUSTER_VOTE_H

#include <stdbool.h>

#include "check/roster.h"
#include "comm/pmi_client.h"
#include "strlist.h"

struct vote {
    int   status;  /* 0: success */
    bool  is_ours; /* the failure started on this rank, which was not only waiting */
    char *text;    /* owned; "": another rank reports it better */
};

/* Sends votes[pmi->rank] and receives the others. Free the texts with votes_clear(). Returns 0,
 * or -1 if PMI fails. name must differ between steps. */
int  votes_exchange(struct vote *votes, struct pmi *pmi, const char *name, struct error *err);
void votes_clear(struct vote *votes, int ranks);

/* Returns the status of the first rank that failed, or 0. */
int votes_status(const struct vote *votes, int ranks);

/* Adds a line for each different text of the ranks on which a failure started or, if there are
 * none, of the ranks that waited: "rank 2 on te1: ...". */
void votes_tell(const struct vote *votes, const struct roster *roster, struct strlist *lines);

/* Call it after a barrier that timed out: lists the ranks of this node that have put neither
 * KEY-RANK nor KEY-RANK.0 (as post_put does): "rank 3, rank 5", or "" if all have. */
void votes_missing(struct pmi *pmi, const char *key, char *text, size_t size);

#endif
