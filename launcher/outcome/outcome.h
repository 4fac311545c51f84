/* outcome.h - how a run ended: the one place that decides exit status and report
 *
 * run/ reports facts, with times on the launcher's clock; outcome notes which of them came
 * first: a rank that failed, a node that was lost, or something else that ended the run. That
 * one decides the exit status and heads the report. What ranks do after they were told to stop
 * is never a failure of theirs. Only outcome.c writes struct outcome.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OUTCOME_H
#define MUSTER_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "exit_code.h"
#include "outcome/generations.h"
#include "node/roundtrip.h"
#include "plan/plan.h"
#include "transport/conn.h"

struct rank_end {
    bool    started, ended;
    int     pid;
    int     code;   /* valid when ended and signal == 0 */
    int     signal; /* 0: it exited */
    bool    core;
    int64_t start_ns, end_ns; /* launcher's monotonic clock */
    int64_t maxrss_kb;
    char   *error;      /* could not be started: why */
    char   *oom;        /* evidence of the OOM killer */
    bool    after_stop; /* ended after we had told it to */
};

/* Of a node's heartbeats; the percentiles are those of the last ones. */
struct node_pace {
    size_t  count; /* 0: nothing is known */
    int64_t p50_ns, p99_ns, most_ns;
    bool    was_slow;
};

/* What came first, and so ended the run. */
enum outcome_first { FIRST_NONE, FIRST_RANK, FIRST_NODE, FIRST_CAUSE };

/* What was found on a node whose agent was gone. */
struct node_cleaned {
    int   ended, left; /* processes; -1: not known */
    char *text;        /* NULL: it was not looked for */
};

struct outcome {
    const struct plan *plan;
    size_t             nodes;  /* of the plan when this began: it may change in between */
    int                ranks;
    bool               is_exec, largest_status;
    int64_t            start_ns, end_ns;
    bool               has_begun; /* GO was sent to a node: from then on ranks may have run */

    /* By rank; those that are not in plan->node[] stay 0, and OUTCOME_NOT_OURS. */
    struct rank_end *rank;
    size_t          *node_of;    /* index into plan->node[] */
    int              ours;       /* how many of them are in plan->node[] */
    int              started;    /* how many of them have started */
    int              seen;       /* how many have started or ended */
    int              first_rank; /* the first that failed; -1: none did */

    /* By node. */
    int                  *ranks_left;     /* whose end is not known */
    struct conn_failure **node;           /* NULL, or why it failed */
    int64_t              *node_failed_ns; /* and when */
    struct node_cleaned  *cleaned;
    struct node_pace     *pace;

    int cause; /* 0, or the exit code of what ended the run other than a rank:
                  EXIT_TIMEOUT, 128+signal, EXIT_OUTPUT ... */
    int64_t  cause_ns;
    char    *cause_text;
    int      aborted_by; /* the cause is the PMI abort of this rank; else -1 */
    char    *apart_text; /* why the ranks were no world; NULL: nobody has said so */
    bool     is_reader_gone; /* the user has closed the pipe, and knows what is lost */
    bool     is_left; /* processes that cannot be killed */
    uint64_t lost_bytes;
    char     output_why[256]; /* where output could first not be written, and why; "": it could.
                                 How much was lost is not always known */
    json_t *unreached;        /* unreachable_pairs_json(); NULL: nobody has asked */
    struct generations past;  /* those that were started again */
};

#define OUTCOME_NOT_OURS ((size_t)-1)

/* The run starts now. */
void outcome_init(struct outcome *outcome, const struct plan *plan);
void outcome_clear(struct outcome *outcome);
/* How muster's exit status is made: by exec's rules; by the largest of all (-S). */
void outcome_set_rules(struct outcome *outcome, bool is_exec, bool largest_status);
/* All ranks start again, as the next generation, since this one ended as the text says: forget all
 * but that, when the run started, and what output was lost. */
void outcome_restart(struct outcome *outcome, const char *text);

/* The plan has other nodes now. */
void outcome_again(struct outcome *outcome);

/* Facts. Each takes copies (a failure's stage stays borrowed: it is a constant). at_ns is on the
 * launcher's clock. outcome_cause() notes the first cause only, and its time is now. */
void outcome_begun(struct outcome *outcome); /* GO is sent */
void outcome_ended(struct outcome *outcome); /* every node is over */
/* The ranks did not find each other, as the text says: a failure even if all of them ended well. */
void outcome_apart(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void outcome_rank_started(struct outcome *outcome, int rank, int pid, int64_t at_ns);
void outcome_rank_ended(struct outcome *outcome, int rank, const struct rank_end *end);
void outcome_node_failed(struct outcome *outcome, size_t node, const struct conn_failure *why,
                         int64_t at_ns);
void outcome_node_pace(struct outcome *outcome, size_t node, const struct roundtrips *trips);
void outcome_node_cleaned(struct outcome *outcome, size_t node, int ended, int left,
                          const char *text);
void outcome_cause(struct outcome *outcome, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, of a rank that asked for it by PMI. */
void outcome_aborted(struct outcome *outcome, int rank, int exit_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whoever read that stream has closed it, and wants no more: the report does not say what was
 * lost. If that ends the run the report is one line. */
void outcome_reader_gone(struct outcome *outcome, const char *stream, bool ends_run);
void outcome_output_failed(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Processes are left that cannot be killed. */
void outcome_unkilled(struct outcome *outcome);
void outcome_output_lost(struct outcome *outcome, uint64_t bytes);
void outcome_unreached(struct outcome *outcome, json_t *pairs); /* takes pairs over */

/* Has any rank started, or even ended? Have all of ours? */
bool outcome_any_started(const struct outcome *outcome);
bool outcome_all_started(const struct outcome *outcome);

/* Has a rank come to its end, with 0, before anybody told it to stop? */
bool outcome_any_ended_well(const struct outcome *outcome);
/* How many ranks have failed, each within so many seconds of its start and with the code of the
 * first one that failed. -1: one has ended otherwise, or none failed. */
int outcome_alike(const struct outcome *outcome, double within_s);
/* Is something left that could not be ended, as far as is known? */
bool outcome_is_left(const struct outcome *outcome);

/* The first of all that happened. Before any rank was started a cause comes before failed nodes,
 * since those alone do not end the start. *node: which one, for FIRST_NODE. */
enum outcome_first outcome_first(const struct outcome *outcome, size_t *node);

/* The exit status of muster. */
int outcome_status(const struct outcome *outcome);

/* As a shell counts it. */
int rank_end_code(const struct rank_end *end);
/* It failed before it was told to stop. */
bool rank_end_is_failure(const struct rank_end *end);
/* "killed by SIGSEGV (core dumped)", "exit 3": into text. */
void rank_end_words(const struct rank_end *end, char *text, size_t size);

/* outcome_json.c: plan_json plus "generation"; "generations" (generations.h); "exit_status";
 * "lost_bytes"; "output_error", or null; "results": per rank its node, pid, start and end (Unix
 * time), code, signal ...; "node_failures"; "first_failure", or null; "heartbeats": per node how
 * many seconds they took; "unreached": after a hang, which nodes cannot reach which. */
json_t *outcome_json(const struct outcome *outcome, bool with_values);

/* report.c: failed nodes as one table (stage, cause, hint), the first failed rank in words with
 * the last lines of its stderr, and one line for the others. Prints nothing if all is well.
 * output gives the last lines (NULL: none); all text from nodes is made safe to print. columns: of
 * the terminal, where causes stay in their column; 0: none. */
struct output;
void outcome_report(const struct outcome *outcome, const struct output *output, size_t columns,
                    FILE *out);

#endif
