/* judge.h - what only shows when nodes are compared
 *
 * Nothing here does I/O: it reads what nodes have said, which may be anything.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JUDGE_H
#define MUSTER_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "doctor/findings.h"

/* Of one node. */
struct subject {
    const char   *host;
    const json_t *hello;    /* NULL: it has not answered, and is not judged */
    json_t       *facts;    /* by name */
    double        clock_s;  /* how far its clock is ahead of ours, give or take */
    double        within_s; /* so much */
    double        login_s;
    size_t        noise; /* bytes that its login shell printed */
};

struct subjects {
    const struct subject *node;
    size_t                count;
    bool is_one_machine; /* all are processes here, on purpose: --transport exec */
};

/* All of them. */
void judge(const struct subjects *subjects, struct findings *findings);

/* judge_same.c: facts that are to be the same everywhere. judge_unique.c: or nowhere twice.
 * judge_peers.c: the ways between nodes. judge_speed.c: how fast they are. judge_public.c: who else
 * can reach the first node. */
void judge_same(const struct subjects *subjects, struct findings *findings);
void judge_names(const struct subjects *subjects, struct findings *findings);
void judge_unique(const struct subjects *subjects, struct findings *findings);
void judge_clocks(const struct subjects *subjects, struct findings *findings);
void judge_logins(const struct subjects *subjects, struct findings *findings);
void judge_peers(const struct subjects *subjects, struct findings *findings);
void judge_speed(const struct subjects *subjects, struct findings *findings);
void judge_public(const struct subjects *subjects, struct findings *findings);

/* A text of an object, or "". The nodes for which wants[] is set, folded; caller frees. */
const char *judge_text(const json_t *object, const char *key);
char       *judge_hosts(const struct subjects *subjects, const bool *wants);

#endif
