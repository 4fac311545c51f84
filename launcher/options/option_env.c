/* option_env.c - the setters of option_value.h for the variables of the ranks
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/option_value.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static int leave_out(struct options *options, const char *value, struct error *err);

int set_env(struct options *options, const struct option_row *row, const char *value,
            struct error *err)
{
    (void)row;
    if (value[0] == '-' && strchr(value, '=') == NULL)
        return leave_out(options, value, err);
    if (value[0] == '\0' || value[0] == '=')
        return err_set(err, "'%s' is not NAME or NAME=VALUE", value);
    strlist_add(&options->env, value);
    return 0;
}

/* --env-all, or --env-all=-NAME,-PATTERN for all but these */
int set_env_all(struct options *options, const struct option_row *row, const char *value,
                struct error *err)
{
    (void)row;
    strlist_add(&options->env, "*");
    return strcmp(value, "*") == 0 ? 0 : leave_out(options, value, err);
}

/* Adds each of "-NAME,-PATTERN" for environ_collect(). */
static int leave_out(struct options *options, const char *value, struct error *err)
{
    size_t length;
    char  *word;

    for (;; value += length + 1) {
        length = strcspn(value, ",");
        if (value[0] != '-' || length < 2 || memchr(value, '=', length) != NULL)
            return err_set(err, "'%.100s' is no list of variables to leave out; write "
                           "-NAME,-PATTERN such as -HF_TOKEN,-AWS_*", value);
        word = xstrndup(value, length);
        strlist_add(&options->env, word);
        free(word);
        if (value[length] == '\0')
            return 0;
    }
}

int set_env_file(struct options *options, const struct option_row *row,
                 const char *value, struct error *err)
{
    (void)row;
    if (value[0] == '\0')
        return err_set(err, "is empty; it should name a file");
    strlist_add(&options->env_files, value);
    return 0;
}
