/* args.c - see args.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job/args.h"

#include <stdint.h>
#include <string.h>

#include "nearby.h"

#define HELP_COLUMN 32
#define LINE_LENGTH 78

static bool asks_for_help(const char *arg);
static void print_less_common(const struct arg_row *rows, FILE *out);
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
        if (asks_for_help(arg))
            return 1;
        row = find(rows, arg);
        if (row == NULL)
            return unknown(rows, arg, err);
        value = arg[1] == '-' ? strchr(arg, '=') : NULL;
        if (value != NULL && row->meta == NULL)
            return err_set(err, "--%s takes no value", row->name);
        value = value != NULL ? value + 1 : row->meta == NULL ? NULL : *++argv;
        if (value == NULL && row->meta != NULL)
            return err_set(err, "%s: the value is missing", arg);
        if (row->set(to, value, &why) < 0)
            return err_set(err, "--%s: %s", row->name, why.text);
    }
    return 0;
}

static bool asks_for_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

void args_help(const char *name, const char *usage, const char *summary,
               const struct arg_row *rows, FILE *out)
{
    const struct arg_row *row;
    char                  option[64];

    fprintf(out, "usage: muster k8s %s %s\n%s\n\nOptions\n", name, usage, summary);
    for (row = rows; row->name != NULL; row++) {
        if (row->help == NULL)
            continue;
        snprintf(option, sizeof option, "--%s%s%s", row->name, row->meta != NULL ? " " : "",
                 row->meta != NULL ? row->meta : "");
        fprintf(out, "  %c%c%c %-*s%s\n", row->letter != 0 ? '-' : ' ',
                row->letter != 0 ? row->letter : ' ', row->letter != 0 ? ',' : ' ',
                HELP_COLUMN - 6, option, row->help);
    }
    print_less_common(rows, out);
}

static void print_less_common(const struct arg_row *rows, FILE *out)
{
    int used = 0;

    for (; rows->name != NULL; rows++) {
        if (rows->help != NULL)
            continue;
        if (used == 0)
            fputs("Less common, see muster-k8s(1)", out);
        if (used == 0 || used + 3 + (int)strlen(rows->name) > LINE_LENGTH)
            used = fprintf(out, "\n  --%s", rows->name);
        else
            used += fprintf(out, " --%s", rows->name);
    }
    if (used > 0)
        fputc('\n', out);
}

/* Finds the row of an option. As in muster, '_' equals '-'. */
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
    return err_set(err, "unknown option '%.*s'%s%s%s", (int)(length < 60 ? length : 60), arg,
                   best != NULL ? "; did you mean --" : "", best != NULL ? best : "",
                   best != NULL ? "?" : "; see muster-k8s(1)");
}
