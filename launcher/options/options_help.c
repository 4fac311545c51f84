/* options_help.c - what muster prints about itself: --help, --version, --list-options
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <event2/event.h>
#include <jansson.h>
#include <libssh/libssh.h>
#include <openssl/crypto.h>
#include <yaml.h>

#include "options/option_table.h"

#define HELP_COLUMN    30 /* where the text of an option begins */
#define HELP_WIDTH     80
#define HELP_LINES     40 /* per subcommand; if it needs more, rare options have no text */
#define HELP_FRAME     3  /* how many of these lines surround the options */
#define RARE_HEADING   "Less common, see muster(1)\n"
#define RARE_INDENT    2

static const char overview_head[] =
    "usage: muster [run] [OPTIONS] SCRIPT [ARGS...]\n"
    "       muster SUBCOMMAND [OPTIONS] [ARGS...]\n"
    "\n"
    "Start multi-node GPU training from a hostfile, over SSH.\n"
    "\n"
    "Subcommands ('muster SUBCOMMAND --help' lists the options of one)\n";

static const char overview_tail[] =
    "Options end at SCRIPT. muster.conf(5) and MUSTER_FANOUT=128 also set options.\n";

static void        print_overview(FILE *out);
static void        print_rows(FILE *out, unsigned command, bool with_rare);
static bool        is_listed(const struct option_row *row, unsigned command, bool with_rare);
static bool        has_text(const struct option_row *row);
static void        print_row(FILE *out, const struct option_row *row);
static const char *default_of(const struct option_row *row);
static bool        fits(unsigned command);
static void        print_rare_names(FILE *out, unsigned command);
static void        print_commands(FILE *out, unsigned commands);

void options_help(enum command topic, FILE *out)
{
    bool with_rare;

    if (topic == COMMAND_HELP) {
        print_overview(out);
        return;
    }
    with_rare = fits(1u << topic);
    fprintf(out, "usage: muster %s\n%s\n\n", command_table[topic].synopsis,
            command_table[topic].summary);
    print_rows(out, 1u << topic, with_rare);
    if (!with_rare)
        print_rare_names(out, 1u << topic);
}

static void print_overview(FILE *out)
{
    int command;

    fputs(overview_head, out);
    for (command = 0; command < COMMANDS; command++)
        fprintf(out, "  %-9s %s\n", command_table[command].name, command_table[command].summary);
    fprintf(out, "  %-9s %s\n", "k8s", "submit the same run to a Kubernetes cluster");
    fputs("\nUsual options of a run ('muster run --help' lists all)\n", out);
    print_rows(out, FOR(RUN), false);
    fputs(overview_tail, out);
}

/* Prints the rows that command takes, each group below its heading. */
static void print_rows(FILE *out, unsigned command, bool with_rare)
{
    const struct option_row *row;
    const char              *group = NULL;

    for (row = option_table; row < option_table + option_rows; row++) {
        if (row->group != NULL)
            group = row->group;
        if (!is_listed(row, command, with_rare))
            continue;
        if (group != NULL)
            fprintf(out, "%s\n", group);
        group = NULL;
        print_row(out, row);
    }
}

static bool is_listed(const struct option_row *row, unsigned command, bool with_rare)
{
    const bool is_rare = (row->flags & OPTION_RARE) ||
                         (command == FOR(RUN) && (row->flags & OPTION_RARE_IN_RUN));

    return (row->commands & command) && has_text(row) && (with_rare || !is_rare);
}

static bool has_text(const struct option_row *row)
{
    return row->help != NULL && !(row->flags & (OPTION_HIDDEN | OPTION_REFUSED));
}

static void print_row(FILE *out, const struct option_row *row)
{
    const char *initial = default_of(row);
    char        left[2 * HELP_COLUMN];

    if (row->letter != '\0')
        snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name);
    else
        snprintf(left, sizeof left, "      --%s", row->name);
    if (row->arg != NULL)
        snprintf(left + strlen(left), sizeof left - strlen(left), " %s", row->arg);
    fprintf(out, "%-*s  %s", HELP_COLUMN - 2, left, row->help);
    if (initial != NULL)
        fprintf(out, " (default %s)", initial);
    fputc('\n', out);
}

/* Returns NULL if the default would tell the user nothing new. */
static const char *default_of(const struct option_row *row)
{
    if (row->initial == NULL || strcmp(row->initial, "-1") == 0 ||
        strcmp(row->initial, "default") == 0 || strstr(row->help, "(default)") != NULL)
        return NULL;
    return row->initial;
}

/* Does the help of command have room for one line per option? */
static bool fits(unsigned command)
{
    const struct option_row *row;
    size_t                   lines = HELP_FRAME;
    bool                     is_headed = false;

    for (row = option_table; row < option_table + option_rows; row++) {
        if (row->group != NULL)
            is_headed = false;
        if (!is_listed(row, command, true))
            continue;
        lines += is_headed ? 1 : 2;
        is_headed = true;
    }
    return lines <= HELP_LINES;
}

static void print_rare_names(FILE *out, unsigned command)
{
    const struct option_row *row;
    size_t                   column = HELP_WIDTH + 1, length; /* as after a full line */

    fputs(RARE_HEADING, out);
    for (row = option_table; row < option_table + option_rows; row++) {
        if (!is_listed(row, command, true) || is_listed(row, command, false))
            continue;
        length = strlen(row->name) + strlen(" --");
        if (column + length > HELP_WIDTH) {
            fprintf(out, "%s%*s", column <= HELP_WIDTH ? "\n" : "", RARE_INDENT - 1, "");
            column = RARE_INDENT - 1;
        }
        fprintf(out, " --%s", row->name);
        column += length;
    }
    fputc('\n', out);
}

void options_version(FILE *out)
{
    fprintf(out, "muster %s\n", PACKAGE_VERSION);
    fprintf(out, "  libssh %s, libevent %s,\n  %s, jansson %s, inih %s, libyaml %s, libedit %s\n",
            ssh_version(0), event_get_version(), OpenSSL_version(OPENSSL_VERSION), JANSSON_VERSION,
            INIH_VERSION, yaml_get_version_string(), BUILT_LIBEDIT);
    fprintf(out, "  agent: %s; muster-train: Gloo %s, NCCL plugin %s\n", BUILT_AGENT, BUILT_GLOO,
            BUILT_NCCL);
}

void options_list(FILE *out)
{
    const struct option_row *row;

    for (row = option_table; row < option_table + option_rows; row++) {
        if (row->flags & OPTION_HIDDEN)
            continue;
        fprintf(out, "%s %c %s %s ", row->name, row->letter != '\0' ? row->letter : '-',
                row->arg != NULL ? row->arg : "-", row->initial != NULL ? row->initial : "-");
        print_commands(out, row->flags & OPTION_REFUSED ? 0 : row->commands);
    }
}

static void print_commands(FILE *out, unsigned commands)
{
    const char *before = "";
    int         command;

    for (command = 0; command < COMMANDS; command++) {
        if (commands & 1u << command) {
            fprintf(out, "%s%s", before, command_table[command].name);
            before = ",";
        }
    }
    fputs(commands == 0 ? "-\n" : "\n", out);
}
