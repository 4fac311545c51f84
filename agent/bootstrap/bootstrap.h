/* bootstrap.h - from a disk snapshot to a working node: `muster bootstrap`, on the node
 *
 * Each step looks at the node and says what would have to change, and why. With plan that is all.
 * With apply each change is written to the journal first (journal.h) and then made, and the step
 * looks again: nothing may be left. Undo goes through the journal backwards. So a second apply
 * finds nothing to change, and one after a power cut does what is left to do.
 *
 * The request:
 *
 *     {"op":"look"|"mesh"|"plan"|"apply"|"undo"|"record"|"swarm-look"|"swarm", "name":"te1",
 *      "steps":["hosts", ...], "hosts":[{"name":"te1", "addr":"10.0.0.1"}, ...], "user":"root",
 *      "home":"/root", "warm":"swarm", "conf":{"data":{"mount":"/data", ...}, ...}}
 *
 * A host without "addr" did not answer. look: only see whether this user is root, or may be. mesh:
 * see steps.h. swarm-look and swarm, after apply: see steps.h; "warm" leaves the step's reading to
 * them. steps: only these; absent: all. conf: the sections of bootstrap.conf, all values as
 * texts. Each step answers with one line, and with {"step":..., "progress":"text"} before it:
 *
 *     {"step":"hosts", "state":"ok"|"change"|"changed"|"later"|"unused"|"failed",
 *      "changes":[{"what":"...", "why":"..."}], "notes":["..."], "error":"...", "fix":"..."}
 *
 * change: plan would change this. later: it cannot be said before an earlier step is done. unused:
 * conf does not ask for it. An answer without "step" is about the node: {"error":..., "fix":...}.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BOOTSTRAP_H
#define MUSTER_AGENT_BOOTSTRAP_H

#include <stdbool.h>

#include <jansson.h>

#include "bootstrap/changes.h"
#include "err.h"
#include "task/task_output.h"

enum bootstrap_op { BOOTSTRAP_PLAN, BOOTSTRAP_APPLY, BOOTSTRAP_UNDO, BOOTSTRAP_RECORD,
                    BOOTSTRAP_MESH, BOOTSTRAP_SWARM_LOOK, BOOTSTRAP_SWARM };

struct bootstrap {
    const char         *root; /* see state.h */
    enum bootstrap_op   op;
    const char         *name, *user, *home; /* of the request; never NULL */
    const json_t       *hosts, *conf, *steps;
    struct task_output *out;
    bool                has_swarm; /* warm: all nodes read together, afterwards */
    bool                is_pending; /* an earlier step has changes that plan has not made */
    json_t             *facts;      /* for the receipt: what steps have found */
};

/* What a step has found. */
struct finding {
    struct changes changes;
    json_t        *notes;     /* texts worth a line, which change nothing */
    bool           is_later;  /* see above */
    bool           is_unused;
    char           fix[512];  /* what to do, if the step fails; "": mend what err names */
};

/* Look, and add to finding. -1 with err. It changes nothing on the node. */
typedef int step_f(struct bootstrap *b, struct finding *finding, struct error *err);

/* A setting of bootstrap.conf; NULL: it is not set. */
const char *bootstrap_conf(const struct bootstrap *b, const char *section, const char *key);
void        finding_note(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void        finding_fix(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void        bootstrap_progress(struct bootstrap *b, const char *step, const char *text);

/* Do what is asked, below root. 0; 1: some step failed. */
int bootstrap_run(const json_t *request, const char *root, struct task_output *out);
/* The row of the agent's table of tasks (task/task.h). */
int bootstrap_task(const json_t *request, struct task_output *out);

#endif
