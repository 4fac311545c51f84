/* leave_out.h - which nodes have spoilt a generation, so that later ones do without them
 *
 * Pure functions, like policy.h. The caller knows nodes by numbers that stay the same in all
 * generations. A node has spoilt a generation that failed
 *
 *     by evidence   its kernel says that something there is broken, or, where the generation ended
 *                   first, that something has failed which no program can cause;
 *     in a row      or this generation and the one before it both ended first there.
 *
 * Evidence that several nodes have at the same time is of what they share, such as a file server
 * or a switch: it counts for none of them. If a rank fails first on the node that has taken the
 * place of one as well, it is not the nodes, and the count ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEAVE_OUT_H
#define MUSTER_LEAVE_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/membership.h"
#include "err.h"

/* The rule, as an int: no node is left out; by evidence, or after LEAVE_OUT_IN_A_ROW generations;
 * or only after that many. */
#define LEAVE_OUT_NEVER    0
#define LEAVE_OUT_EVIDENCE (-1)
#define LEAVE_OUT_MOST     1000

#define LEAVE_OUT_IN_A_ROW 2
#define LEAVE_OUT_SHARED_S 60.0 /* evidence of two nodes is of one cause */
#define LEAVE_OUT_NONE     ((size_t)-1)

/* What the kernel of a node has said. */
struct leave_out_sign {
    size_t      node; /* LEAVE_OUT_NONE: this says nothing of it */
    bool        is_broken; /* until someone repairs, resets or reboots it; false: it may pass */
    const char *kind;
    double      at_s; /* when we have learnt of it */
};

/* How a generation failed. */
struct leave_out_end {
    size_t node;      /* where it ended first; LEAVE_OUT_NONE: not known */
    size_t place;     /* of the rank that failed first; LEAVE_OUT_NONE: the node was lost */
    bool   are_alike; /* all ranks have failed in the same way */
    const struct leave_out_sign *sign;
    size_t                       signs;
};

/* Starts as leave_out_new(). */
struct leave_out {
    int    rule;
    size_t last; /* where the last generations ended first, so often in a row */
    int    in_a_row;
    size_t left;       /* the node that the count has left out of this generation ... */
    size_t left_place; /* ... which had this place; LEAVE_OUT_NONE: it was lost */
    bool   is_count_over;
};

enum leave_out_why { LEAVE_OUT_STAYS, LEAVE_OUT_BROKEN, LEAVE_OUT_COUNTED };

/* "evidence", "never" or a number. -1 with err. */
int leave_out_parse(const char *text, int *rule, struct error *err);

struct leave_out leave_out_new(int rule);

/* A generation has failed: counts it. Returns a node that was left out without a reason, as the
 * count now shows; LEAVE_OUT_NONE: there is none. */
size_t leave_out_count(struct leave_out *state, const struct leave_out_end *end);

/* After leave_out_count(): has that node spoilt this generation? LEAVE_OUT_BROKEN: *sign is the
 * index of the evidence. */
enum leave_out_why leave_out_judge(const struct leave_out *state, const struct leave_out_end *end,
                                   size_t node, size_t *sign);
/* Does another node have the same evidence at the same time? */
bool leave_out_is_shared(const struct leave_out_end *end, size_t sign);

/* The node has spoilt the generation that is over, as judged: the next one does without it. False:
 * it stays, since there would be too few nodes. */
bool leave_out_node(struct leave_out *state, const struct leave_out_end *end,
                    enum leave_out_why why, struct membership *members,
                    const struct member_rules *rules, size_t node, const char *reason,
                    double now_s);

#endif
