/* outcome.h - how a run ended: the one place that decides exit status and report
 *
 * launch.c reports facts; outcome keeps the first failure (by the launcher's
 * clock, corrected for each agent's offset), decides the exit status and
 * prints one report, the last thing on stderr.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OUTCOME_H
#define MUSTER_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "conn.h"
#include "exit_code.h"
#include "plan.h"

struct rank_end {
    bool     started, ended;
    int      pid;
    int      code;      /* valid when ended and signal == 0 */
    int      signal;    /* 0: exited by itself */
    bool     core;
    int64_t  start_ns, end_ns; /* launcher's monotonic clock */
    int64_t  maxrss_kb;
    char    *error;     /* could not be started: why */
    char    *oom;       /* evidence of the OOM killer */
    bool     after_stop; /* ended after we had told it to */
};

struct outcome {
    const struct plan *plan;
    struct rank_end   *rank;        /* world_size of them */
    struct conn_failure **node;     /* per node: NULL or why it failed */
    int64_t           *node_failed_ns; /* when, beside each of node[] */
    int                first_rank;  /* -1: no rank failed */
    int64_t            start_ns, end_ns;
    int                cause;       /* 0, or the exit code of what ended the run other than a
                                       rank: EXIT_TIMEOUT, 128+signal, EXIT_OUTPUT ... */
    char              *cause_text;
    uint64_t           lost_bytes;
    bool               largest_status, is_exec;
};

void outcome_init(struct outcome *outcome, const struct plan *plan);
void outcome_clear(struct outcome *outcome);

/* Facts. Each takes copies. at_ns on the launcher's clock. outcome_cause keeps
 * the first one only. */
void outcome_rank_started(struct outcome *outcome, int rank, int pid, int64_t at_ns);
void outcome_rank_ended(struct outcome *outcome, int rank, const struct rank_end *end);
void outcome_node_failed(struct outcome *outcome, size_t node, const struct conn_failure *why,
                         int64_t at_ns);
void outcome_cause(struct outcome *outcome, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* True when something happened that must end the run. */
bool outcome_has_failed(const struct outcome *outcome);

/* The exit status of muster. */
int outcome_status(const struct outcome *outcome);

/* The report into out: failing nodes as one table (stage, cause, hint), or the
 * first failing rank in words with the last lines of its stderr and one line
 * for the others. Prints nothing when all is well. tail gives a rank's last
 * lines; all text from nodes is made safe to print. */
struct output;
void outcome_report(const struct outcome *outcome, const struct output *output, FILE *out);

/* plan_json plus, per rank, node, pid, start, end, code, signal, and the first failure. */
json_t *outcome_json(const struct outcome *outcome);

/* "killed by SIGSEGV (core dumped)", "exit 3": into text. */
void rank_end_words(const struct rank_end *end, char *text, size_t size);

#endif
