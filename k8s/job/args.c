/* args.c - see args.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/args.h"

#include <stdint.h>
#include <string.h>

#include "nearby.h"

static const struct arg_row *find(const struct arg_row *rows, const char *arg);
static int unknown(const struct arg_row *rows, const char *arg, struct error *err);

int args_read(const char *const *argv, const struct arg_row *rows, bool options_first, void *to,
              struct strlist *words, struct error *err)
{
    const struct arg_row *row;
    const char           *arg, *value;
    struct error          why;

    for (; *argv != NULL; argv++) {
        arg = *argv;
        if (arg[0] != '-' || arg[1] == '\0' || strcmp(arg, "--") == 0) {
            if (arg[0] == '-' && arg[1] == '-')
                argv++;
            else if (!options_first) {
                strlist_add(words, arg);
                continue;
            }
            for (; *argv != NULL; argv++)
                strlist_add(words, *argv);
            return 0;
        }
        row = find(rows, arg);
        if (row == NULL)
            return unknown(rows, arg, err);
        value = arg[1] == '-' ? strchr(arg, '=') : NULL;
        if (value != NULL && row->is_flag)
            return err_set(err, "--%s takes no value", row->name);
        value = value != NULL ? value + 1 : row->is_flag ? NULL : *++argv;
        if (value == NULL && !row->is_flag)
            return err_set(err, "%s: the value is missing", arg);
        if (row->set(to, value, &why) < 0)
            return err_set(err, "--%s: %s", row->name, why.text);
    }
    return 0;
}

/* '_' is '-', as in muster. */
static const struct arg_row *find(const struct arg_row *rows, const char *arg)
{
    size_t length = strcspn(arg, "="), i;

    for (; rows->name != NULL; rows++) {
        if (arg[1] != '-') {
            if (rows->letter != 0 && arg[1] == rows->letter && arg[2] == '\0')
                return rows;
            continue;
        }
        for (i = 2; i < length; i++)
            if ((arg[i] == '_' ? '-' : arg[i]) != rows->name[i - 2])
                break;
        if (i == length && rows->name[length - 2] == '\0')
            return rows;
    }
    return NULL;
}

static int unknown(const struct arg_row *rows, const char *arg, struct error *err)
{
    size_t      length = strcspn(arg, "="), least = SIZE_MAX, distance;
    const char *best = NULL;

    for (; length > 2 && rows->name != NULL; rows++) {
        distance = nearby(arg + 2, length - 2, rows->name);
        if (distance < least) {
            least = distance;
            best = rows->name;
        }
    }
    return err_set(err, "there is no option '%.*s'%s%s%s", (int)(length < 60 ? length : 60), arg,
                   best != NULL ? "; did you mean --" : "", best != NULL ? best : "",
                   best != NULL ? "?" : "; see muster-k8s(1)");
}
