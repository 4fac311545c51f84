/* host_group.c - see host_group.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "groups/host_group.h"

#include <stdlib.h>
#include <string.h>

#include "groups/group_source.h"
#include "log.h"
#include "xalloc.h"

typedef int group_source(const char *name, struct strlist *hosts, struct error *err);

static const struct {
    const char   *prefix;
    const char   *name; /* in messages */
    group_source *hosts;
} sources[] = {
    { "genders:", "the genders database", genders_hosts },
    { "dsh:", "dsh's files", dsh_group_hosts },
    { "nodeset:", "nodeset", nodeset_hosts },
};
#define SOURCES (sizeof sources / sizeof *sources)

/* What was asked for before: a filter is read more than once. */
static struct answer {
    char          *name;
    struct strlist hosts;
} *answers;
static size_t answer_count;

static int look(const char *name, struct strlist *hosts, struct error *err);
static int ask(size_t source, const char *name, struct strlist *hosts, struct error *err);

int host_group_find(const char *name, struct strlist *hosts, struct error *err)
{
    struct answer answer = { 0 };
    size_t        i;

    for (i = 0; i < answer_count; i++)
        if (strcmp(answers[i].name, name) == 0) {
            strlist_append(hosts, &answers[i].hosts);
            return 0;
        }
    if (look(name, &answer.hosts, err) < 0) {
        strlist_clear(&answer.hosts);
        return -1;
    }
    strlist_append(hosts, &answer.hosts);
    answer.name = xstrdup(name);
    answers = xreallocarray(answers, answer_count + 1, sizeof *answers);
    answers[answer_count++] = answer;
    return 0;
}

int host_group_all(struct strlist *hosts, struct error *err)
{
    struct error why;

    if (ask(0, "~pdsh_all_skip", hosts, &why) == 1)
        return 0;
    return host_group_find(GROUP_ALL, hosts, err);
}

void host_group_clear(void)
{
    while (answer_count > 0) {
        free(answers[--answer_count].name);
        strlist_clear(&answers[answer_count].hosts);
    }
    free(answers);
    answers = NULL;
}

/* The error has what each source has said. */
static int look(const char *name, struct strlist *hosts, struct error *err)
{
    struct error why, all = { "" };
    size_t       i, length;
    int          rc;

    for (i = 0; i < SOURCES; i++) {
        length = strlen(sources[i].prefix);
        if (strncmp(name, sources[i].prefix, length) == 0) {
            rc = ask(i, name + length, hosts, &why);
            return rc > 0 ? 0 : err_set(err, "no group '%.100s': %s", name + length, why.text);
        }
    }
    if (name[0] == '\0')
        return err_set(err, "the name of a group must follow '@'");
    for (i = 0; i < SOURCES; i++) {
        rc = ask(i, name, hosts, &why);
        if (rc > 0)
            return 0;
        if (rc < 0)
            return err_set(err, "group '%.100s': %s", name, why.text);
        err_set(&all, "%s%s%s", all.text, all.text[0] != '\0' ? "; " : "", why.text);
    }
    return strcmp(name, GROUP_ALL) == 0
               ? err_set(err, "nothing lists all hosts: %s", all.text)
               : err_set(err, "no group '%.100s': %s", name, all.text);
}

static int ask(size_t source, const char *name, struct strlist *hosts, struct error *err)
{
    const size_t before = hosts->count;
    int          rc = sources[source].hosts(name, hosts, err);

    if (rc > 0)
        log_info("group %s: %zu %s, from %s", name, hosts->count - before,
                 hosts->count - before == 1 ? "host" : "hosts", sources[source].name);
    return rc;
}
