/* option_watch.c - the options that say how muster watches ranks and nodes (option_value.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <string.h>

#include "elastic/leave_out.h"
#include "options/option_value.h"

#define PROGRESS_MAX 1000

int set_leave_out(struct options *options, const struct option_row *row, const char *value,
                  struct error *err)
{
    (void)row;
    return leave_out_parse(value, &options->leave_out, err);
}

int set_progress(struct options *options, const struct option_row *row, const char *value,
                 struct error *err)
{
    regex_t pattern;
    char    why[200];
    int     rc;

    if (strlen(value) > PROGRESS_MAX)
        return err_set(err, "it is longer than %d bytes", PROGRESS_MAX);
    rc = regcomp(&pattern, value, REG_EXTENDED);
    if (rc != 0) {
        regerror(rc, &pattern, why, sizeof why);
        return err_set(err, "'%.100s' is not an extended regular expression: %s", value, why);
    }
    regfree(&pattern);
    return set_text(options, row, value, err);
}

/* Python catches INT, and ends by it; faulthandler does not register the signals of faults. By TERM
 * muster stops ranks. */
int set_stack_signal(struct options *options, const struct option_row *row, const char *value,
                     struct error *err)
{
    static const int bad[] = { SIGINT, SIGTERM, SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL };
    size_t           i;

    if (set_signal(options, row, value, err) < 0)
        return -1;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (options->stack_signal == bad[i])
            return err_set(err, "'%.40s' has another meaning for Python: take USR2, for example",
                           value);
    return 0;
}

/* It is a program of the nodes, so only they can look for it. */
int set_health_check(struct options *options, const struct option_row *row, const char *value,
                     struct error *err)
{
    if (value[0] == '\0' || strlen(value) >= PATH_MAX)
        return err_set(err, "it is empty or too long; it names a program on the nodes");
    if (value[0] != '/' && strchr(value, '/') != NULL)
        return err_set(err, "'%.200s' is neither an absolute path nor a name on PATH", value);
    if (strchr(value, ' ') != NULL)
        return err_set(err, "'%.200s' has a blank; the program gets no arguments: put the command "
                            "into a script", value);
    return set_text(options, row, value, err);
}
