/* option_watch.c - the options that say how muster watches ranks and nodes (option_value.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <limits.h>
#include <regex.h>
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
