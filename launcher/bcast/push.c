/* push.c - see push.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/push.h"

#include <stdlib.h>

#include "bcast/bcast.h"
#include "course/launch.h"
#include "log.h"
#include "plan/program.h"
#include "xalloc.h"

static int copy(const struct options *options, const struct selection *selection,
                bool needs_root, char *const *here);
static int report(const struct run *run, int status, FILE *out, FILE *err);

int push_files(const struct options *options, const struct selection *selection, char *const *here)
{
    struct options pushing = *options; /* borrows the texts of options */

    if (options->push.count == 0)
        return 0;
    pushing.args = options->push;
    pushing.to = NULL;
    return copy(&pushing, selection, false, here);
}

int push_beside_agents(const struct options *options, const struct selection *selection,
                       const char *dir, char *const *here)
{
    struct options   pushing = *options;
    struct selection away = { xcalloc(selection->count, sizeof *away.node), 0 };
    char            *word = xstrdup(dir);
    size_t           i;
    int              status = 0;

    for (i = 0; i < selection->count; i++)
        if (!options->no_ssh && !plan_host_is_local(selection->node[i].host, options))
            away.node[away.count++] = selection->node[i];
    pushing.args = (struct strlist){ .item = &word, .count = 1 };
    pushing.exclude_paths = (struct strlist){ 0 };
    pushing.gitignore = false;
    pushing.links = LINKS_FOLLOW;
    pushing.beside_agent = true;
    pushing.to = NULL;
    if (away.count > 0)
        status = copy(&pushing, &away, false, here);
    free(word);
    free(away.node);
    return status;
}

int push_directory(const struct options *options, const struct selection *selection,
                   const char *dir, const char *to, char *const *here)
{
    struct options pushing = *options;
    const char    *name = strrchr(to, '/') + 1;
    char          *word = xstrdup(dir), *parent = xstrndup(to, (size_t)(name - to));
    int            status;

    pushing.args = (struct strlist){ .item = &word, .count = 1 };
    pushing.exclude_paths = pushing.push = (struct strlist){ 0 };
    pushing.gitignore = false;
    pushing.links = LINKS_AUTO;
    pushing.to = parent;
    pushing.as = name;
    status = copy(&pushing, selection, true, here);
    free(parent);
    free(word);
    return status;
}

static int copy(const struct options *options, const struct selection *selection,
                bool needs_root, char *const *here)
{
    struct node_job job = bcast_job;
    struct options  pushing = *options;
    struct program  none = { 0 };
    struct plan     plan;
    struct error    err;
    int             status;

    job.report = report;
    job.needs_root = needs_root;
    pushing.command = COMMAND_BCAST;
    pushing.json = pushing.name = NULL;
    pushing.show_ranks = pushing.log_dir = pushing.each_rank_log = NULL;
    pushing.save_pid = false;
    pushing.sudo = needs_root && options->sudo; /* else the copies are the user's */
    if (plan_make(&plan, &pushing, selection, &none, here, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_USAGE;
    }
    status = launch_run(&pushing, &plan, &job, NULL);
    plan_clear(&plan);
    return status;
}

static int report(const struct run *run, int status, FILE *out, FILE *err)
{
    (void)out;
    return bcast_report(run, status, log_wants(LOG_INFO) ? err : NULL, err);
}
