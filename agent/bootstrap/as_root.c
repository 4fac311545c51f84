/* as_root.c - see as_root.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/as_root.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "exit_code.h"
#include "frame.h"
#include "task/command.h"
#include "xalloc.h"

#define LONGEST_S 86400.0
#define FAILED    1

static void refuse(struct task_output *out, const struct command_result *result);

int as_root(const json_t *request, struct task_output *out)
{
    char                  exe[PATH_MAX];
    ssize_t               size = readlink("/proc/self/exe", exe, sizeof exe - 1);
    static const char     option[] = "--" AS_ROOT_OPTION;
    const char *const     argv[] = { "sudo", "-n", "--", exe, option, NULL };
    struct command_result result;
    char                 *text = json_dumps(request, JSON_COMPACT);
    bool                  is_ok;

    exe[size > 0 ? size : 0] = '\0';
    is_ok = command_run_to(out->fd, argv, text, LONGEST_S, &result);
    if (!is_ok && result.status != AS_ROOT_FAILED)
        refuse(out, &result);
    command_clear(&result);
    free(text);
    return is_ok ? 0 : FAILED;
}

static void refuse(struct task_output *out, const struct command_result *result)
{
    const char *user = getenv("USER") != NULL ? getenv("USER") : "this user";
    char       *text, *fix, why[512];

    command_why(result, LONGEST_S, why, sizeof why);
    if (result->signal != 0) {
        text = xasprintf("the agent that sudo started was killed early (%s)", why);
        fix = xstrdup("run it again: it completes the unfinished work");
    } else {
        text = xasprintf("%s is not root on this node, and sudo -n failed (%s)", user, why);
        fix = xasprintf("log in as root (--ssh_user root), or allow %s to use sudo without a "
                        "password", user);
    }
    task_output_line(out, json_pack("{s:o, s:o}", "error", json_text(text, strlen(text)), "fix",
                                    json_text(fix, strlen(fix))));
    free(text);
    free(fix);
}

int as_root_main(void)
{
    struct task_output out = { STDOUT_FILENO };
    json_t            *request = json_loadf(stdin, JSON_REJECT_DUPLICATES, NULL);
    double             deadline_s = json_number_value(json_object_get(request, "deadline_s"));
    int                status;

    if (!json_is_object(request) || geteuid() != 0) {
        json_decref(request);
        return EXIT_USAGE;
    }
    /* The agent that has asked may not send signals to root. */
    alarm(deadline_s > 0 && deadline_s < LONGEST_S ? 1 + (unsigned)deadline_s
                                                   : (unsigned)LONGEST_S);
    status = bootstrap_task(request, &out);
    json_decref(request);
    return status == FAILED ? AS_ROOT_FAILED : status;
}
