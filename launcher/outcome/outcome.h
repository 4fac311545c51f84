/* outcome.h - how a run ended; decides the exit status and the report
 *
 * run/ reports facts, with times of the launcher's clock. outcome notes which of them came
 * first: a failed rank, a lost node, or another cause that ended the run. The first one decides
 * the exit status and comes first in the report. An exit of a rank after STOP is never a
 * failure of the rank. Only outcome.c writes struct outcome.
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
#include "outcome/cautions.h"
#include "outcome/evidence.h"
#include "outcome/flight_records.h"
#include "outcome/generations.h"
#include "outcome/slow_list.h"
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
    char   *error;      /* why it could not be started */
    char   *oom;        /* evidence of the OOM killer */
    bool    after_stop; /* it ended after we sent STOP */
};

/* The round trips of a node's heartbeats; the percentiles are those of the recent ones. */
struct node_pace {
    size_t  count; /* 0: no heartbeats yet */
    int64_t p50_ns, p99_ns, most_ns;
    bool    was_slow;
};

/* The first fact, which ended the run. */
enum outcome_first { FIRST_NONE, FIRST_RANK, FIRST_NODE, FIRST_CAUSE };

/* The result of the cleanup of a node whose agent was gone. */
struct node_cleaned {
    int   ended, left; /* processes; -1: unknown */
    char *text;        /* NULL: there was no cleanup */
};

struct outcome {
    const struct plan *plan;
    size_t             nodes;  /* number of nodes in the plan at outcome_init(): the plan may
                                  change */
    int                ranks;
    bool               is_exec, largest_status;
    int64_t            start_ns, end_ns;
    bool               has_begun; /* GO was sent to a node: since then ranks may have run */

    /* By rank. For ranks that are not in plan->node[] these stay 0 and OUTCOME_NOT_OURS. */
    struct rank_end *rank;
    size_t          *node_of;    /* index into plan->node[] */
    int              ours;       /* number of ranks in plan->node[] */
    int              started;    /* number of these that have started */
    int              seen;       /* number that have started or ended */
    int              first_rank; /* the first that failed; -1: none did */

    /* By node. */
    int                  *ranks_left;     /* number of ranks whose end is not known */
    struct conn_failure **node;           /* why the node failed, or NULL */
    int64_t              *node_failed_ns; /* when it failed */
    struct node_cleaned  *cleaned;
    struct node_pace     *pace;

    int cause; /* 0, or the exit code of a cause other than a rank or node that ended the run:
                  EXIT_TIMEOUT, 128+signal, EXIT_OUTPUT ... */
    int64_t  cause_ns;
    char    *cause_text;
    int      aborted_by; /* the rank whose PMI abort is the cause; else -1 */
    char    *apart_text; /* why the ranks did not form one world; NULL: they did, as far as is
                            known */
    char    *given_up; /* why another generation would fail, too; NULL: it might do better */
    bool     is_reader_gone; /* the user has closed the pipe, and knows that output is lost */
    bool     is_left; /* processes are left that cannot be killed */
    int      sent;    /* the last signal that muster kill has sent to all ranks; 0: none */
    uint64_t lost_bytes;
    char     output_why[256]; /* the first stream that could not be written, and why; "": none.
                                 The amount lost is not always known */
    json_t *unreached;        /* unreachable_pairs_json(); NULL: the nodes were not asked */
    struct cautions cautions; /* what was said before the start */
    struct evidence evidence; /* what the kernels of the nodes have said; evidence.c */
    struct flight_records flight; /* the last collectives of the ranks */
    struct generations past;  /* the generations before this one */
    json_t *suspects; /* by generation: the nodes that have spoilt it; outcome_json.c */
    json_t *slow; /* the nodes that were slower than others: slow_list.h; outcome_json.c */
};

#define OUTCOME_NOT_OURS ((size_t)-1)

/* Initializes outcome; the run starts now. */
void outcome_init(struct outcome *outcome, const struct plan *plan);
void outcome_clear(struct outcome *outcome);
/* Sets how to compute muster's exit status: by exec's rules; as the largest of all (-S). */
void outcome_set_rules(struct outcome *outcome, bool is_exec, bool largest_status);
/* The next generation starts, since this one ended as text says. Adds this generation to past,
 * and resets all but past, the start of the run, the lost output, and which cautions the user has
 * read. */
void outcome_restart(struct outcome *outcome, const char *text);

/* The same for one role, which has ended with that code, while the others go on. */
void outcome_restart_role(struct outcome *outcome, const struct plan *role, int code,
                          const char *text);

/* The nodes of the plan have changed: resets the same, but adds nothing to past. */
void outcome_again(struct outcome *outcome);

/* Facts. Each function copies its arguments (a failure's stage stays borrowed: it is a
 * constant). at_ns is a time of the launcher's clock. outcome_cause() notes only the first
 * cause, with the present time. */
void outcome_begun(struct outcome *outcome); /* GO was sent */
void outcome_ended(struct outcome *outcome); /* every node is over */
/* The ranks did not form one world, as the text says: a failure even if all of them exited with
 * 0. */
void outcome_apart(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Another generation would fail as this one did: the exit status says so, whatever has failed. */
void outcome_give_up(struct outcome *outcome, char *text); /* takes over text */
void outcome_rank_started(struct outcome *outcome, int rank, int pid, int64_t at_ns);
void outcome_rank_ended(struct outcome *outcome, int rank, const struct rank_end *end);
void outcome_node_failed(struct outcome *outcome, size_t node, const struct conn_failure *why,
                         int64_t at_ns);
void outcome_node_pace(struct outcome *outcome, size_t node, const struct roundtrips *trips);
void outcome_node_cleaned(struct outcome *outcome, size_t node, int ended, int left,
                          const char *text);
void outcome_cause(struct outcome *outcome, int exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a rank that aborted the run by PMI. */
void outcome_aborted(struct outcome *outcome, int rank, int exit_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The reader of that stream has closed it, so the report does not mention lost output. If this
 * ends the run, the report is one line. */
void outcome_reader_gone(struct outcome *outcome, const char *stream, bool ends_run);
void outcome_output_failed(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* muster kill has sent a signal to all ranks: those that end by it need no other explanation. */
void outcome_sent(struct outcome *outcome, int signal);
/* Processes are left that cannot be killed. */
void outcome_unkilled(struct outcome *outcome);
void outcome_output_lost(struct outcome *outcome, uint64_t bytes);
void outcome_unreached(struct outcome *outcome, json_t *pairs); /* takes over pairs */
/* A node has sent EVIDENCE, with this body. */
void outcome_evidence(struct outcome *outcome, size_t node, const json_t *body);
/* A rank's last collectives: the body of FLIGHT. */
void outcome_flight(struct outcome *outcome, int rank, const json_t *body);

/* outcome_json.c: this node has spoilt the generation, for that reason; the run goes on without
 * it, or not. It was not this node after all. Has it spoilt a generation of this run? */
void outcome_suspect(struct outcome *outcome, const char *host, const char *reason,
                     bool is_left_out);
void outcome_trust(struct outcome *outcome, const char *host);
bool outcome_is_suspect(const struct outcome *outcome, const char *host);
/* outcome_json.c: for so many seconds this node has been slower than the others, for that reason;
 * it is well again. */
void outcome_slow(struct outcome *outcome, const char *host, const char *reason, double since_s);
void outcome_slow_over(struct outcome *outcome, const char *host);

/* Before the start: something looks wrong at a host, and the run starts even so. The report of a
 * failure repeats it. outcome_tell() warns of what the user has not read yet. */
void outcome_caution(struct outcome *outcome, const char *host, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void outcome_tell(struct outcome *outcome);

/* Has any rank started, or even ended? Have all of ours? */
bool outcome_any_started(const struct outcome *outcome);
bool outcome_all_started(const struct outcome *outcome);

/* Have all ranks exited with 0 but those of --service roles, and do some of these still run? */
bool outcome_only_services_run(const struct outcome *outcome);

/* The next functions are about the ranks of a world: the plan's, or one role's. */

/* Returns the one that failed first; -1: none did. */
int outcome_first_rank(const struct outcome *outcome, const struct plan *world);
/* Has any exited with 0 before we sent STOP? */
bool outcome_any_ended_well(const struct outcome *outcome, const struct plan *world);
/* Returns how many have failed, each within within_s seconds of its start and with the code of
 * the first failed one. -1: one has ended otherwise, or none failed. */
int outcome_alike(const struct outcome *outcome, const struct plan *world, double within_s);
/* Returns how many there are on our nodes. */
int outcome_ranks(const struct outcome *outcome, const struct plan *world);

/* Are processes left that could not be killed, as far as is known? */
bool outcome_is_left(const struct outcome *outcome);

/* Returns which fact came first. If no rank was started, a cause precedes failed nodes, since
 * failed nodes alone do not end the start. *node: the node, for FIRST_NODE. */
enum outcome_first outcome_first(const struct outcome *outcome, size_t *node);

/* Returns muster's exit status. */
int outcome_status(const struct outcome *outcome);

/* Returns the exit status of a rank as a shell computes it. */
int rank_end_code(const struct rank_end *end);
/* Did the rank fail before we sent STOP? */
bool rank_end_is_failure(const struct rank_end *end);
/* Writes "killed by SIGSEGV (core dumped)" or "exit 3" to text. */
void rank_end_words(const struct rank_end *end, char *text, size_t size);

/* outcome_json.c: returns plan_json() plus "generation"; "generations" (generations.h);
 * "exit_status"; "lost_bytes"; "output_error", or null; "results": per rank its node, pid,
 * start and end (Unix time), code, signal ...; "node_failures"; "first_failure", or null;
 * "heartbeats": per node how many seconds they took; "suspects": [{"node", "generation",
 * "reason", "left_out"}, ...]; "slow" (slow_list.h); "cautions" (cautions.h); "evidence" and
 * "evidence_unread" (evidence.h); "unreached": after a hang, which nodes cannot reach which
 * others. */
json_t *outcome_json(const struct outcome *outcome, bool with_values);

/* report.c: prints the failed nodes as one table (stage, cause, hint), the first failed rank
 * with the last lines of its stderr, and one line for the others; on success nothing of that. Then
 * prints the nodes that were slow. output: provides the last lines (NULL: none). All text from
 * nodes is made safe to print.
 * columns: of the terminal, in which causes are wrapped; 0: no terminal. */
struct output;
void outcome_report(const struct outcome *outcome, const struct output *output, size_t columns,
                    FILE *out);

#endif
