/* vote.h - how a step went on each rank, told to all through PMI
 *
 * What was checked is perhaps broken, PMI is not: it goes the way of the launcher's frames.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_VOTE_H
#define MUSTER_VOTE_H

#include <stdbool.h>

#include "check/roster.h"
#include "comm/pmi_client.h"
#include "strlist.h"

struct vote {
    int   status;  /* 0: well */
    bool  is_ours; /* failed here, and was not just waiting for those who did */
    char *text;    /* owned; "": somebody else tells it better */
};

/* votes[pmi->rank] is ours; fill in the others. Free the texts with votes_clear. 0, or -1 when
 * PMI fails. name differs from step to step. */
int  votes_exchange(struct vote *votes, struct pmi *pmi, const char *name, struct error *err);
void votes_clear(struct vote *votes, int ranks);

/* The status of the first that failed, 0 if none has. */
int votes_status(const struct vote *votes, int ranks);

/* Add a line for each different text of those that failed, or, if no failure was anybody's
 * own, of those that waited: "rank 2 on te1: ...". */
void votes_tell(const struct vote *votes, const struct roster *roster, struct strlist *lines);

/* After a barrier that had no end: the ranks of this node that have put neither
 * KEY-RANK nor, as post_put does, KEY-RANK.0: "rank 3, rank 5"; "" if they all have. */
void votes_missing(struct pmi *pmi, const char *key, char *text, size_t size);

#endif
