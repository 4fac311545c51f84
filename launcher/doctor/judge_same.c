/* judge_same.c - judges facts and host names that must be the same on all nodes
 *
 * The value of most nodes counts as right. If two values have the same number of nodes, the
 * value whose node comes first in the hostfile counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strlist.h"
#include "xalloc.h"

#define FACTS_MAX 512
#define NAMES_MAX 16 /* findings about names; the rest is dropped */

/* The first row whose prefix matches the fact applies. */
static const struct rule {
    const char *begins;
    const char *check;
    bool        is_fail;
    const char *breaks, *mend;
} rules[] = {
    { "version of torch", "versions", true,
      "hangs at init_process_group, or \"connecting to address with family 0\"",
      "install the same version on all nodes" },
    { "version of nvidia-nccl", "versions", true,
      "hangs at init_process_group, or \"connecting to address with family 0\"",
      "install the same version on all nodes" },
    { "version of deepspeed", "versions", true, "collectives that do not match: hangs",
      "install the same version on all nodes" },
    { "version of ", "versions", false, "programs behave differently",
      "install the same version on all nodes" },
    { "content of ", "files", true,
      "ranks run different code: one hangs in a collective that another never calls",
      "muster bcast FILE" },
    { "path ", "files", true, "ranks on nodes without it fail at once, the others wait",
      "mount the disk, or: muster bcast PATH" },
    { "data ", "disks", true,
      "programs find an empty folder or other data, and checkpoints fill the system disk",
      "mount the data disk: lsblk -f; muster bootstrap" },
    { "driver module", "gpu driver", false, "NCCL may fail between these nodes",
      "install the same driver on all nodes" },
    { "gpu model", "gpu", false, "all nodes wait for the slowest GPU, or hang if one has fewer",
      "leave the node out (--exclude), or set slots=N" },
    { "kernel", "machine", false, "the driver may not load after the next reboot",
      "install the same kernel on all nodes" },
    { "cores", "machine", false, "the node with fewer cores is slower, and all wait for it",
      "use nodes of one type" },
    { "transparent huge pages", "machine", false, "one node is slower than the others",
      "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled" },
};

static const struct rule *rule_of(const char *fact);
static void               collect_facts(const struct subjects *subjects, struct strlist *facts);
static void  compare(const struct subjects *subjects, const char *fact, const struct rule *rule,
                     struct findings *findings);
static char *value_of(const struct subject *subject, const char *fact);
static const char *usual(char *const *value, size_t count);
static void        collect_names(const struct subjects *subjects, struct strlist *names);
static char       *addresses_of(const struct subject *subject, const char *name);

void judge_same(const struct subjects *subjects, struct findings *findings)
{
    struct strlist facts = { 0 };
    size_t         i;

    collect_facts(subjects, &facts);
    for (i = 0; i < facts.count; i++)
        compare(subjects, facts.item[i], rule_of(facts.item[i]), findings);
    strlist_clear(&facts);
}

static const struct rule *rule_of(const char *fact)
{
    size_t i;

    for (i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strncmp(fact, rules[i].begins, strlen(rules[i].begins)) == 0)
            return &rules[i];
    return NULL;
}

/* Collects the facts that any node has and that have a rule. */
static void collect_facts(const struct subjects *subjects, struct strlist *facts)
{
    const char *fact;
    json_t     *value;
    size_t      i;

    for (i = 0; i < subjects->count; i++)
        json_object_foreach(subjects->node[i].facts, fact, value)
            if (rule_of(fact) != NULL && facts->count < FACTS_MAX && !strlist_has(facts, fact))
                strlist_add(facts, fact);
}

static void compare(const struct subjects *subjects, const char *fact, const struct rule *rule,
                    struct findings *findings)
{
    char      **value = xcalloc(subjects->count, sizeof *value), *text, *hosts;
    bool       *as_usual = xcalloc(subjects->count, sizeof *as_usual);
    const char *right;
    size_t      i;

    for (i = 0; i < subjects->count; i++)
        value[i] = value_of(&subjects->node[i], fact);
    right = usual(value, subjects->count);
    for (i = 0; i < subjects->count; i++)
        as_usual[i] = value[i] != NULL && strcmp(value[i], right) == 0;
    hosts = judge_hosts(subjects, as_usual);
    for (i = 0; i < subjects->count; i++) {
        if (value[i] == NULL || as_usual[i])
            continue;
        text = xasprintf("%s: %s, but %s on %s", fact, value[i], right, hosts);
        findings_add(findings, (int)i, rule->is_fail, rule->check, text, rule->breaks, rule->mend);
        free(text);
    }
    for (i = 0; i < subjects->count; i++)
        free(value[i]);
    free(value);
    free(as_usual);
    free(hosts);
}

/* NULL: the node was not asked, or it could not find out and has reported the reason. */
static char *value_of(const struct subject *subject, const char *fact)
{
    const json_t *value = json_object_get(subject->facts, fact);

    if (json_is_string(value))
        return xstrdup(json_string_value(value));
    if (json_is_integer(value))
        return xasprintf("%lld", (long long)json_integer_value(value));
    return strncmp(fact, "version of ", strlen("version of ")) == 0 &&
                   json_object_get(subject->facts, "version of python") != NULL
               ? xstrdup("not installed")
               : NULL;
}

/* Returns the most frequent value, borrowed; "" if there is none. */
static const char *usual(char *const *value, size_t count)
{
    const char *best = "";
    size_t      i, j, votes, most = 0;

    for (i = 0; i < count; i++) {
        if (value[i] == NULL)
            continue;
        for (votes = 0, j = i; j < count; j++)
            votes += value[j] != NULL && strcmp(value[i], value[j]) == 0;
        if (votes <= most)
            continue;
        most = votes;
        best = value[i];
    }
    return best;
}

/* --- names ------------------------------------------------------------------ */

/* Ignores names that no node knows: they come from this machine's ssh config. */
void judge_names(const struct subjects *subjects, struct findings *findings)
{
    struct strlist names = { 0 };
    char         **value = xcalloc(subjects->count, sizeof *value), *text;
    const char    *right;
    size_t         n, i, told = 0;

    collect_names(subjects, &names);
    for (n = 0; n < names.count && told < NAMES_MAX; n++) {
        for (i = 0; i < subjects->count; i++)
            value[i] = addresses_of(&subjects->node[i], names.item[n]);
        right = usual(value, subjects->count);
        if (right[0] == '\0') { /* most nodes do not know the name: does any? */
            for (i = 0; i < subjects->count; i++)
                if (value[i] != NULL && value[i][0] != '\0')
                    right = value[i];
        }
        for (i = 0; i < subjects->count && right[0] != '\0'; i++) {
            if (value[i] == NULL || strcmp(value[i], right) == 0)
                continue;
            told++;
            text = value[i][0] == '\0'
                       ? xasprintf("it does not know the name %s (elsewhere %s)", names.item[n],
                                   right)
                       : xasprintf("%s is %s there, but %s elsewhere", names.item[n], value[i],
                                   right);
            findings_add(findings, (int)i, value[i][0] != '\0', "names", text,
                         "ranks cannot connect, or connect to the wrong machine: hangs at "
                         "init_process_group",
                         "make /etc/hosts the same on all nodes: muster bcast");
            free(text);
        }
        for (i = 0; i < subjects->count; i++)
            free(value[i]);
    }
    free(value);
    strlist_clear(&names);
}

static void collect_names(const struct subjects *subjects, struct strlist *names)
{
    const char *name;
    json_t     *value, *known;
    size_t      i;

    for (i = 0; i < subjects->count; i++) {
        known = json_object_get(subjects->node[i].facts, "addresses of names");
        json_object_foreach(known, name, value)
            if (names->count < FACTS_MAX && !strlist_has(names, name))
                strlist_add(names, name);
    }
}

/* Returns "10.0.0.1 10.0.0.2"; "": the node does not know the name. NULL: it was not asked, or
 * the name is its own, which it checks itself. */
static char *addresses_of(const struct subject *subject, const char *name)
{
    const json_t *list =
                     json_object_get(json_object_get(subject->facts, "addresses of names"), name),
                 *address;
    char  *text = xstrdup(""), *longer;
    size_t i;

    if (!json_is_array(list) || strcmp(judge_text(subject->facts, "hostname"), name) == 0) {
        free(text);
        return NULL;
    }
    json_array_foreach(list, i, address) {
        if (!json_is_string(address))
            continue;
        longer = xasprintf("%s%s%s", text, text[0] != '\0' ? " " : "", json_string_value(address));
        free(text);
        text = longer;
    }
    return text;
}
