/* findings.c - see findings.h
 *
 * The key of a group is the level and its texts, with newlines between them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/findings.h"

#include <stdlib.h>
#include <string.h>

#include "sanitize.h"
#include "xalloc.h"

#define TEXT_MAX   1000
#define TEXTS      4  /* check, value, breaks, mend */
#define COLUMN_MAX 44 /* a longer text moves the columns after it */

static void print_level(const struct findings *findings, const struct plan *plan, bool is_fail,
                        const int width[TEXTS], FILE *out);
static bool is_failing(const struct group *group);
static void split(char *key, const char *text[TEXTS]);

void findings_add(struct findings *findings, int node, bool is_fail, const char *check,
                  const char *value, const char *breaks, const char *mend)
{
    const char *const from[TEXTS] = { check, value, breaks, mend };
    char              text[TEXTS][TEXT_MAX], *key;
    int               i;

    for (i = 0; i < TEXTS; i++)
        sanitize_tail(from[i], strlen(from[i]), text[i], sizeof text[i]);
    key = xasprintf("%c\n%s\n%s\n%s\n%s", is_fail ? 'F' : 'W', text[0], text[1], text[2], text[3]);
    findings->any_fail |= is_fail;
    if (findings->groups.count < FINDINGS_MAX)
        groups_add(&findings->groups, key, node);
    else
        findings->dropped++;
    free(key);
}

void findings_clear(struct findings *findings)
{
    groups_clear(&findings->groups);
    *findings = (struct findings){ 0 };
}

void findings_print(const struct findings *findings, const struct plan *plan, FILE *out)
{
    int         width[TEXTS] = { 0 }, length, c;
    const char *text[TEXTS];
    char       *key, *hosts;
    size_t      i;

    for (i = 0; i < findings->groups.count; i++) {
        key = xstrdup(findings->groups.group[i].key);
        hosts = group_hosts(&findings->groups.group[i], plan);
        split(key, text);
        for (c = 0; c < TEXTS - 1; c++) {
            length = (int)strnlen(c == 0 ? hosts : text[c - 1], COLUMN_MAX);
            width[c] = length > width[c] ? length : width[c];
        }
        free(hosts);
        free(key);
    }
    print_level(findings, plan, true, width, out);
    print_level(findings, plan, false, width, out);
    if (findings->dropped > 0)
        fprintf(out, "and %zu more findings\n", findings->dropped);
}

static void print_level(const struct findings *findings, const struct plan *plan, bool is_fail,
                        const int width[TEXTS], FILE *out)
{
    const char *text[TEXTS];
    char       *key, *hosts;
    size_t      i;

    for (i = 0; i < findings->groups.count; i++) {
        const struct group *group = &findings->groups.group[i];

        if (is_failing(group) != is_fail)
            continue;
        key = xstrdup(group->key);
        hosts = group_hosts(group, plan);
        split(key, text);
        fprintf(out, "%s  %-*s  %-*s  %-*s  %s%s%s\n", is_fail ? "FAIL" : "WARN", width[0], hosts,
                width[1], text[0], width[2], text[1], text[2],
                text[2][0] != '\0' && text[3][0] != '\0' ? "; " : "", text[3]);
        free(hosts);
        free(key);
    }
}

json_t *findings_json(const struct findings *findings, const struct plan *plan)
{
    json_t     *list = json_array(), *nodes;
    const char *text[TEXTS];
    char       *key;
    size_t      i, n;

    for (i = 0; i < findings->groups.count; i++) {
        const struct group *group = &findings->groups.group[i];

        nodes = json_array();
        for (n = 0; n < group->count; n++)
            json_array_append_new(nodes, json_string(plan->node[group->member[n]].host));
        key = xstrdup(group->key);
        split(key, text);
        json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:s, s:s, s:s}", "level",
                                              is_failing(group) ? "fail" : "warn", "nodes", nodes,
                                              "check", text[0], "value", text[1], "breaks",
                                              text[2], "mend", text[3]));
        free(key);
    }
    return list;
}

bool findings_has_node(const struct findings *findings, int node)
{
    size_t i, n;

    for (i = 0; i < findings->groups.count; i++)
        for (n = 0; n < findings->groups.group[i].count; n++)
            if (findings->groups.group[i].member[n] == node)
                return true;
    return false;
}

int findings_status(const struct findings *findings)
{
    return findings->any_fail ? 2 : findings->groups.count > 0 ? 1 : 0;
}

static bool is_failing(const struct group *group)
{
    return group->key[0] == 'F';
}

/* Splits key, a copy of a group's key, into its texts. */
static void split(char *key, const char *text[TEXTS])
{
    char *at = key + strlen("F\n");
    int   i;

    for (i = 0; i < TEXTS; i++) {
        text[i] = at;
        at += strcspn(at, "\n");
        if (*at != '\0')
            *at++ = '\0';
    }
}
