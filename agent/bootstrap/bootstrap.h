/* bootstrap.h - from a disk snapshot to a working node: `muster bootstrap`, on the node
 *
 * Each step looks at the node and reports what it would have to change, and why. With plan it
 * stops there. With apply it first writes each change to the journal (journal.h) and then
 * makes it, and looks again: no change may remain. Undo goes through the journal backwards. So
 * a second apply finds nothing to change, and an apply after a power cut does the rest.
 *
 * The request:
 *
 *     {"op":"look"|"mesh"|"plan"|"apply"|"undo"|"record"|"swarm-look"|"swarm", "name":"te1",
 *      "steps":["hosts", ...], "hosts":[{"name":"te1", "addr":"10.0.0.1"}, ...], "user":"root",
 *      "home":"/root", "warm":"swarm", "list":"...", "conf":{"data":{"mount":"/data", ...}, ...}}
 *
 * A host without "addr" did not answer. look: do nothing; the launcher waits until all nodes have
 * answered. mesh: see steps.h. swarm-look and swarm, after apply: see steps.h; with "warm" the
 * step leaves the reading to them. steps: only these; absent: all. conf: the sections of
 * bootstrap.conf, all values as strings; but access.keys and user.keys are arrays of public keys
 * (the user gets those of access if it has none), and python.text and conda.text are the files that
 * conf names. Each step answers with one line, and may send
 * {"step":..., "progress":"text"} before it, and {"push":true}: it wants the files of
 * project.push, copied to project.directory, of which "list" has the entries (entry.h):
 *
 *     {"step":"hosts", "state":"ok"|"change"|"changed"|"later"|"unused"|"failed",
 *      "changes":[{"what":"...", "why":"..."}], "notes":["..."], "error":"...", "fix":"..."}
 *
 * change: plan would change this. later: unknown until an earlier step is done. unused: conf
 * does not ask for it. An answer without "step" is about the node: {"error":..., "fix":...}.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BOOTSTRAP_H
#define MUSTER_AGENT_BOOTSTRAP_H

#include <stdbool.h>

#include <jansson.h>

#include "err.h"
#include "journal/changes.h"
#include "task/task_output.h"

enum bootstrap_op { BOOTSTRAP_PLAN, BOOTSTRAP_APPLY, BOOTSTRAP_UNDO, BOOTSTRAP_RECORD,
                    BOOTSTRAP_MESH, BOOTSTRAP_SWARM_LOOK, BOOTSTRAP_SWARM };

struct bootstrap {
    const char         *root; /* see state.h */
    enum bootstrap_op   op;
    const char         *name, *user, *home; /* from the request; never NULL */
    const json_t       *hosts, *conf, *steps;
    struct task_output *out;
    bool                has_swarm; /* warm: all nodes read together, later */
    bool                is_pending; /* an earlier step has found changes, not yet made */
    const json_t       *list;       /* of the files of [project] push; NULL: there is none */
    bool                has_push;   /* step project wants them, after the steps */
    bool                has_lists;  /* step driver has had apt's lists fetched */
    json_t             *facts;      /* found by the steps, for the receipt */
};

/* The result of a step. */
struct finding {
    struct changes changes;
    json_t        *notes;     /* remarks that change nothing */
    bool           is_later;  /* see above */
    bool           is_unused;
    char           fix[512];  /* what to do if the step fails; "": fix what err names */
};

/* Looks at the node and adds to finding. -1 with err. It changes nothing on the node. */
typedef int step_f(struct bootstrap *b, struct finding *finding, struct error *err);

/* Returns a setting of bootstrap.conf; NULL: it is not set. */
const char *bootstrap_conf(const struct bootstrap *b, const char *section, const char *key);
void        finding_note(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void        finding_fix(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void        bootstrap_progress(struct bootstrap *b, const char *step, const char *text);

/* Handles the request, below root. Returns 0; 1: a step failed. */
int bootstrap_run(const json_t *request, const char *root, struct task_output *out);
/* The entry in the agent's table of tasks (task/task.h). */
int bootstrap_task(const json_t *request, struct task_output *out);

#endif
