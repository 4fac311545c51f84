/* checkout.c - see checkout.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "journal/checkout.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "task/command.h"
#include "xalloc.h"

#define ASK_S 300.0 /* on a cold disk this takes minutes */

static int         ask(const char *const *argv, struct command_result *result, struct error *err);
static const char *first_of_others(char *status);
static bool        is_of_python(const char *line);

int checkout_check(const char *path, bool with_ignored, struct error *err)
{
    const char *const     status[] = { "git", "-C", path, "status", "--porcelain",
                                       with_ignored ? "--ignored" : NULL, NULL };
    const char *const     log[] = { "git", "-C", path, "log", "-n", "1", "--format=%h %s", "HEAD",
                                    "--branches", "--glob=refs/stash", "--not", "--remotes",
                                    "--tags", "--", NULL };
    struct command_result result;
    char                 *git = xasprintf("%s/.git", path);
    const char           *line;
    int                   rc = access(git, F_OK) < 0 ? 1 : 0;

    free(git);
    if (rc > 0)
        return 0;
    rc = ask(status, &result, err);
    if (rc == 0 && (line = first_of_others(result.out)) != NULL)
        rc = err_set(err, "%s has changes: git status: %s", path, line);
    command_clear(&result);
    if (rc < 0)
        return -1;
    rc = ask(log, &result, err);
    if (rc == 0 && result.out_size > 0) {
        result.out[strcspn(result.out, "\n")] = '\0';
        rc = err_set(err, "%s has a commit that its remote has not: %s", path, result.out);
    }
    command_clear(&result);
    return rc;
}

static int ask(const char *const *argv, struct command_result *result, struct error *err)
{
    char why[512];

    if (command_run(argv, NULL, ASK_S, result))
        return 0;
    command_why(result, ASK_S, why, sizeof why);
    return err_set(err, "git %s in %s: %s", argv[3], argv[2], why);
}

/* Returns the first line of git status that says so; NULL: none does. */
static const char *first_of_others(char *status)
{
    char *line, *next;

    for (line = status; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        if (*next == '\n')
            *next++ = '\0';
        if (!is_of_python(line))
            return line;
    }
    return NULL;
}

static bool is_of_python(const char *line)
{
    static const char cache[] = "__pycache__/";
    size_t            length = strlen(line), end = strlen(cache);

    return strncmp(line, "!! ", 3) == 0 && length >= end && strcmp(line + length - end, cache) == 0;
}
