/* judge.h - finds problems by comparing nodes
 *
 * Nothing here does I/O. Its input comes from the nodes and may be anything.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JUDGE_H
#define MUSTER_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "doctor/findings.h"

/* One node and its facts. */
struct subject {
    const char   *host;
    const json_t *hello;    /* NULL: the node has not answered, and is not judged */
    json_t       *facts;    /* by name */
    double        clock_s;  /* how far its clock is ahead of ours */
    double        within_s; /* accuracy of clock_s */
    double        login_s;
    size_t        noise; /* bytes printed by its login shell */
};

struct subjects {
    const struct subject *node;
    size_t                count;
    bool is_one_machine; /* all nodes are processes on this machine: --transport exec */
};

/* Calls all functions below. */
void judge(const struct subjects *subjects, struct findings *findings);

/* judge_same.c: facts that must be the same on all nodes. judge_unique.c: facts that must
 * differ. judge_peers.c: the paths between nodes. judge_speed.c: the speed of these paths.
 * judge_public.c: whether other machines can reach the first node. */
void judge_same(const struct subjects *subjects, struct findings *findings);
void judge_names(const struct subjects *subjects, struct findings *findings);
void judge_unique(const struct subjects *subjects, struct findings *findings);
void judge_clocks(const struct subjects *subjects, struct findings *findings);
void judge_logins(const struct subjects *subjects, struct findings *findings);
void judge_peers(const struct subjects *subjects, struct findings *findings);
void judge_speed(const struct subjects *subjects, struct findings *findings);
void judge_public(const struct subjects *subjects, struct findings *findings);

/* judge_text() returns a text of an object, or "". judge_hosts() returns the names of the nodes
 * for which wants[] is set, folded; caller frees. */
const char *judge_text(const json_t *object, const char *key);
char       *judge_hosts(const struct subjects *subjects, const bool *wants);

#endif
