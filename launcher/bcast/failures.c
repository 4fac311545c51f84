/* failures.c - see failures.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/failures.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "node/node.h"
#include "sanitize.h"
#include "xalloc.h"

#define TABLE_MAX     256  /* rows */
#define TEXT_MAX      4608 /* bytes of a part of a row: more than a path */
#define NODE_ROWS_MAX 32   /* per node; the rest are ignored */

static char   *safe(const char *text);
static char   *text_of(const char *what, const char *path, const char *why);
static json_t *json_of(const struct group *group, const struct plan *plan);
static void    split(const struct group *group, char **what, char **path, char **why);
static char   *cut(char *text);

void failures_add(struct failures *failures, const struct node *node, size_t *count,
                  const char *path, const char *what, const char *why)
{
    char *row, *safe_path, *safe_what, *safe_why, *text;

    if (failures->groups.count >= TABLE_MAX || *count == NODE_ROWS_MAX) {
        failures->is_cut = true;
        return;
    }
    ++*count;
    safe_path = safe(path);
    safe_what = safe(what);
    safe_why = safe(why);
    row = xasprintf("%s\n%s\n%s", safe_what, safe_path, safe_why);
    text = text_of(safe_what, safe_path, safe_why);
    log_info("%s: %s", node->plan->host, text);
    free(text);
    groups_add(&failures->groups, row, (int)node->index);
    free(row);
    free(safe_why);
    free(safe_what);
    free(safe_path);
}

void failures_clear(struct failures *failures)
{
    groups_clear(&failures->groups);
}

/* Makes text safe to print, and truncates it, since a node may send a long one. */
static char *safe(const char *text)
{
    return sanitize_text(text, strnlen(text, TEXT_MAX));
}

/* Caller frees. */
static char *text_of(const char *what, const char *path, const char *why)
{
    if (path[0] == '\0')
        return xstrdup(why);
    return what[0] != '\0' ? xasprintf("%s: cannot %s: %s", path, what, why)
                           : xasprintf("%s: %s", path, why);
}

/* Sorts the rows, since answers come in any order. */
void failures_print(struct failures *failures, const struct plan *plan, const char *title,
                    FILE *out)
{
    char  *what, *path, *why, *names, *text;
    size_t i;

    groups_sort(&failures->groups);
    if (failures->groups.count > 0)
        fprintf(out, "muster: %s\n", title);
    for (i = 0; i < failures->groups.count; i++) {
        split(&failures->groups.group[i], &what, &path, &why);
        names = group_hosts(&failures->groups.group[i], plan);
        text = text_of(what, path, why);
        fprintf(out, "  %s  %s\n", names, text);
        free(text);
        free(names);
        free(what);
    }
    if (failures->is_cut)
        fputs("  ... and more\n", out);
    fflush(out);
}

json_t *failures_json(const struct failures *failures, const struct plan *plan)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < failures->groups.count; i++)
        json_array_append_new(list, json_of(&failures->groups.group[i], plan));
    return list;
}

static json_t *json_of(const struct group *group, const struct plan *plan)
{
    json_t *nodes = json_array(), *failure;
    char   *what, *path, *why;
    size_t  i;

    for (i = 0; i < group->count; i++)
        json_array_append_new(nodes, json_string(plan->node[group->member[i]].host));
    split(group, &what, &path, &why);
    failure = json_pack("{s:o, s:s, s:s, s:s}", "nodes", nodes, "path", path, "what", what,
                        "text", why);
    free(what);
    return failure;
}

/* Splits a row's key into its parts; free *what. */
static void split(const struct group *group, char **what, char **path, char **why)
{
    *what = xstrdup(group->key);
    *path = cut(*what);
    *why = cut(*path);
}

/* Cuts text at the first newline, and returns the rest. */
static char *cut(char *text)
{
    text += strcspn(text, "\n");
    if (*text != '\0')
        *text++ = '\0';
    return text;
}

char *size_words(uint64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    double                   size = (double)bytes;
    int                      i;

    for (i = 0; i < 4 && size >= 1024; i++)
        size /= 1024;
    return xasprintf(i == 0 ? "%.0f %s" : "%.1f %s", size, units[i]);
}
