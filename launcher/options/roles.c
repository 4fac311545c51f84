/* roles.c - see roles.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/roles.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "file.h"

#define ROLES_FILE_MAX ((size_t)1 << 20) /* bytes */

static const char role_option[] = "--role";

static int  add_line(struct role_lines *lines, const char *text, struct error *err);
static int  take_word(const char **text, struct buffer *word, struct error *err);
static int  check_names(const struct options *options, size_t which, struct error *err);
static bool is_same_name(const char *a, const char *b);
static char fold_char(char c);

void role_lines_clear(struct role_lines *lines)
{
    size_t i;

    for (i = 0; i < lines->count; i++)
        strlist_clear(&lines->line[i]);
    lines->count = 0;
}

int role_lines_cut(struct role_lines *lines, const struct strlist *words, struct error *err)
{
    struct strlist *line;
    size_t          i = 0;

    while (i < words->count) {
        if (strncmp(words->item[i], role_option, sizeof role_option - 1) != 0)
            return err_set(err, "after ':' comes --role NAME:N, not '%.100s'", words->item[i]);
        if (lines->count == ROLES_MAX)
            return err_set(err, "more than %d roles", ROLES_MAX);
        line = &lines->line[lines->count++];
        while (i < words->count && strcmp(words->item[i], ":") != 0)
            strlist_add(line, words->item[i++]);
        i++;
        if (i == words->count)
            return err_set(err, "nothing follows the last ':'; a role is --role NAME:N SCRIPT");
    }
    return 0;
}

/* ---- a file ---- */

int role_lines_read(struct role_lines *lines, const char *path, struct error *err)
{
    size_t       size = 0;
    struct error why;
    char        *text = file_read(path, ROLES_FILE_MAX, &size, &why), *at = text, *line;
    int          number, rc = 0;

    if (text == NULL)
        return err_set(err, "--roles: %s", why.text);
    if (memchr(text, '\0', size) != NULL)
        rc = err_set(err, "--roles: %s has a NUL byte: it is no text", path);
    for (number = 1; rc == 0 && (line = strsep(&at, "\n")) != NULL; number++)
        if ((rc = add_line(lines, line, &why)) < 0)
            err_set(err, "%s:%d: %s", path, number, why.text);
    free(text);
    if (rc == 0 && lines->count == 0)
        return err_set(err, "--roles: no role in %s; a line is NAME:N SCRIPT ARGS", path);
    return rc;
}

static int add_line(struct role_lines *lines, const char *text, struct error *err)
{
    struct strlist words = { 0 };
    struct buffer  word = { 0 };
    int            rc;

    strlist_add(&words, role_option);
    while ((rc = take_word(&text, &word, err)) > 0) {
        strlist_add_bytes(&words, word.size > 0 ? word.bytes : "", word.size);
        word.size = 0;
        if (strcmp(words.item[words.count - 1], ":") == 0) {
            rc = err_set(err, "':' alone begins another role on a command line; it cannot be an "
                              "argument");
            break;
        }
    }
    if (rc == 0 && words.count > 1 && lines->count == ROLES_MAX)
        rc = err_set(err, "more than %d roles", ROLES_MAX);
    if (rc == 0 && words.count > 1)
        lines->line[lines->count++] = words;
    else
        strlist_clear(&words);
    buffer_clear(&word);
    return rc;
}

/* Returns 1 with the next word, 0 at the end of the line, or -1 with err. */
static int take_word(const char **text, struct buffer *word, struct error *err)
{
    const char *at = *text + strspn(*text, " \t\r");
    char        quote = '\0';

    if (*at == '\0' || *at == '#')
        return 0;
    for (; *at != '\0' && (quote != '\0' || strchr(" \t\r", *at) == NULL); at++) {
        if (*at == quote)
            quote = '\0';
        else if (quote == '\0' && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == '\\' && quote != '\'' && at[1] != '\0')
            buffer_add(word, ++at, 1);
        else
            buffer_add(word, at, 1);
    }
    if (quote != '\0')
        return err_set(err, "%c without its end", quote);
    *text = at;
    return 1;
}

/* ---- what they mean together ---- */

int roles_check(const struct options *options, struct error *err)
{
    size_t i, services = 0;

    if (options->num_ranks > 0)
        return err_set(err, "-np cannot be used together with --role: write --role NAME:N");
    if (options->no_ssh)
        return err_set(err, "--no_ssh cannot be used together with --role: muster starts all nodes "
                            "of a run with roles; leave --no_ssh and --node_rank out");
    if (options->discovery_script != NULL || options->members.spares > 0 ||
        options_are_elastic(options))
        return err_set(err, "with --role the nodes of a run are fixed: no --nnodes MIN:MAX, "
                            "--min-np, --spares, --recovery=elastic or --host-discovery-script; "
                            "leave them out, or give the elastic role a run of its own");
    if (options->master_addr != NULL || options->master_port > 0)
        return err_set(err, "--master_addr and --master_port belong behind a --role: each role has "
                            "its own");
    if (options->input_to >= 0)
        return err_set(err, "--stdin=RANK and --pty cannot be used together with --role: write "
                            "--stdin=all, or give that role a run of its own");
    if (options->restart == RESTART_ROLE && options->input_to != INPUT_TO_NONE)
        return err_set(err, "--stdin cannot be used together with --restart=role: a role that "
                            "starts again would miss what the first one has read; leave it out");
    for (i = 0; i < options->roles; i++) {
        services += options->role[i].service;
        if (check_names(options, i, err) < 0)
            return -1;
    }
    if (services == options->roles)
        return err_set(err, "--service for every role: nothing would end the run");
    return 0;
}

static int check_names(const struct options *options, size_t which, struct error *err)
{
    const struct options *role = &options->role[which];
    size_t                i;

    if (role->role_ranks == 0 && which + 1 < options->roles)
        return err_set(err, "--role %s: how many ranks? Write --role %s:N (only the last role may "
                            "take what is left)", role->role_name, role->role_name);
    for (i = 0; i < which; i++)
        if (is_same_name(role->role_name, options->role[i].role_name))
            return err_set(err, "--role %s: there is a role %s already", role->role_name,
                           options->role[i].role_name);
    return 0;
}

/* For the variables that ranks get, case makes no difference, nor '-' or '_'. */
static bool is_same_name(const char *a, const char *b)
{
    while (*a != '\0' && fold_char(*a) == fold_char(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static char fold_char(char c)
{
    return c == '-' ? '_' : (char)toupper((unsigned char)c);
}

/* ---- for muster resume ---- */

void roles_add_words(const struct options *options, struct strlist *words)
{
    const struct options *role;

    for (role = options->role; role < options->role + options->roles; role++) {
        if (role > options->role)
            strlist_add(words, ":");
        strlist_append(words, &role->given);
        if (role->script[0] == '-' ||
            (role->args.count > 0 && strcmp(role->args.item[0], "--") == 0))
            strlist_add(words, "--");
        strlist_add(words, role->script);
        strlist_append(words, &role->args);
    }
}
