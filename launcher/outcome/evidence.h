/* evidence.h - what the kernels and counters of the nodes have said of hardware and storage in
 * this generation
 *
 * An agent sends what it has recognized in its node's kernel log (agent/evidence), and what the
 * counters of GPUs and network ports show (agent/samples). The report
 * of a failure shows it beside the first failure: the node of that one first, what is broken
 * before what may pass. What was corrected is only in the JSON.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVIDENCE_H
#define MUSTER_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "plan/plan.h"
#include "strlist.h"

#define EVIDENCE_MAX 512      /* items of a generation; more are only counted */
#define EVIDENCE_SPARE 128    /* of these, for what is broken */
#define EVIDENCE_NODE_MAX 64  /* of a node */
#define EVIDENCE_LINES_MAX 16 /* in the report */

enum evidence_severity { EVIDENCE_NOTICE, EVIDENCE_PROGRAM, EVIDENCE_ERROR, EVIDENCE_BROKEN };

struct evidence_item {
    size_t                 node; /* index into plan->node[] */
    enum evidence_severity severity;
    const char *source; /* "kernel" or "counters" */
    char   *time, *kind, *device, *what, *action, *text; /* as the node has sent them */
    int64_t count, pid;                                  /* pid 0: none */
    int64_t at_ns; /* when its first message came; clock_now_ns() */
};

/* A node whose kernel log its agent cannot read. */
struct evidence_unread {
    size_t node;
    char  *why;
};

/* Initialize it as { 0 }. */
struct evidence {
    struct evidence_item   *item;
    struct evidence_unread *unread;
    size_t                  count, unreads;
    int64_t                 more; /* items that had no room */
};

struct outcome;

void evidence_clear(struct evidence *evidence);
/* Forgets what these nodes have said: they start again. */
void evidence_forget(struct evidence *evidence, size_t first_node, size_t nodes);

/* Takes the body of EVIDENCE, which may hold anything. Logs what is new. */
void evidence_take(struct evidence *evidence, const struct plan *plan, size_t node,
                   const json_t *body);

/* Returns "Xid 79, has fallen off the bus (GPU 0000:3b:00.0): reboot the node", safe to print. The
 * caller frees it. */
char *evidence_words(const struct evidence_item *item);

/* Adds the lines of the report about a generation that has failed. */
void evidence_lines(const struct outcome *outcome, struct strlist *lines);
/* Prints them as the user reads them: in the report, or as notes before the next generation. */
void evidence_print(const struct outcome *outcome, FILE *out);
void evidence_tell(const struct outcome *outcome);

/* Returns [{"node", "source", "time", "kind", "device", "count", "severity", "what", "action",
 * "text"}, ...]: all of it; and [{"node", "text"}, ...]: the nodes whose logs could not be read. */
json_t *evidence_json(const struct evidence *evidence, const struct plan *plan);
json_t *evidence_unread_json(const struct evidence *evidence, const struct plan *plan);

#endif
