/* options_help.c - what muster prints about itself
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <event2/event.h>
#include <jansson.h>
#include <libssh/libssh.h>
#include <openssl/crypto.h>

#include "options/option_table.h"

#define HELP_COLUMN 34

static const char usage[] =
    "usage: muster [OPTIONS] SCRIPT [ARGS...]      one rank a slot, as deepspeed\n"
    "       muster exec [OPTIONS] [--] COMMAND...  one command a host, as pdsh\n"
    "       muster check [OPTIONS] [-- ARGS...]    do the nodes reach each other, how fast?\n"
    "       muster clean [OPTIONS] [--kill]        what have earlier runs left?\n"
    "       muster bcast [OPTIONS] PATH...         files and directories to all nodes\n"
    "       muster status|attach|stop [RUN]        a run that goes on, as with --detach\n"
    "\n"
    "Options end at the script. --NAME=VALUE or --NAME VALUE; unique prefixes; '-' is '_'.\n";

static const char ending[] =
    "\n"
    "TIME: 90, 1.5, 30s, 10m, 2h. All but --dry-run, --detach and this last group may also\n"
    "stand in muster.conf(5), or in the environment as MUSTER_FANOUT=128. See muster(1).\n";

static void print_row(FILE *out, const struct option_row *row);

void options_help(FILE *out)
{
    const struct option_row *row;

    fputs(usage, out);
    for (row = option_table; row < option_table + option_rows; row++) {
        if (row->group != NULL)
            fprintf(out, "\n%s\n", row->group);
        if (row->help != NULL && !(row->flags & (OPTION_HIDDEN | OPTION_REFUSED)))
            print_row(out, row);
    }
    fputs(ending, out);
}

static void print_row(FILE *out, const struct option_row *row)
{
    char left[HELP_COLUMN * 2];

    if (row->letter != '\0')
        snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name);
    else
        snprintf(left, sizeof left, "      --%s", row->name);
    fprintf(out, "%s%s%-*s %s", left, row->arg != NULL ? " " : "",
            HELP_COLUMN - (int)strlen(left) - (row->arg != NULL), row->arg != NULL ? row->arg : "",
            row->help);
    if (row->initial != NULL && strcmp(row->initial, "-1") != 0)
        fprintf(out, " (%s)", row->initial);
    fputc('\n', out);
}

void options_version(FILE *out)
{
    fprintf(out, "muster %s\n", PACKAGE_VERSION);
    fprintf(out, "  libssh %s, libevent %s, %s,\n  jansson %s, inih %s\n", ssh_version(0),
            event_get_version(), OpenSSL_version(OPENSSL_VERSION), JANSSON_VERSION, INIH_VERSION);
    fprintf(out, "  agent: %s; muster-train: Gloo %s, NCCL plugin %s\n", BUILT_AGENT, BUILT_GLOO,
            BUILT_NCCL);
}

void options_list(FILE *out)
{
    const struct option_row *row;

    for (row = option_table; row < option_table + option_rows; row++)
        if (!(row->flags & OPTION_HIDDEN))
            fprintf(out, "%s %c %s %s\n", row->name, row->letter != '\0' ? row->letter : '-',
                    row->arg != NULL ? row->arg : "-", row->initial != NULL ? row->initial : "-");
}
