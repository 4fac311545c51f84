/* check.c - muster k8s check: does the user have the rights that the subcommands need?
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/rights.h"
#include "commands/query.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "strlist.h"
#include "xalloc.h"

static int ask_all(const struct query *query, struct error *err);
static int ask_row(const struct query *query, size_t number, struct strlist *missing,
                   struct error *err);
static int ask(const struct query *query, size_t number, const char *verb, size_t length,
               struct error *err);

/* Without the rights that submit needs there are no jobs. */
static const struct {
    const char *what, *group, *resource, *below, *verbs;
    bool        is_needed;
} rights[] = {
    { "submit", "", "configmaps", "", "get list watch create patch delete", true },
    { "submit", "", "secrets", "", "get create delete", true },
    { "submit", "", "services", "", "get create", true },
    { "submit", "networking.k8s.io", "networkpolicies", "", "get create", true },
    { "submit", "", "pods", "", "get list watch create delete", true },
    { "submit --max-workers", "", "pods", "", "patch", false },
    { "logs", "", "pods", "log", "get", true },
    { "shell", "", "pods", "exec", "create", false },
    { "events", "", "events", "", "list", false },
    { "top", "metrics.k8s.io", "pods", "", "list", false },
    { "submit --tensorboard", "apps", "deployments", "", "get create", false },
    { "dashboard, tensorboard", "", "pods", "portforward", "create", false },
    { "submit --metrics", "monitoring.coreos.com", "servicemonitors", "", "get create", false },
    { "submit --gang", "scheduling.volcano.sh", "podgroups", "", "get create delete", false },
    { "controller", JOB_GROUP, JOB_PLURAL, "", "get list watch delete", false },
    { "controller", JOB_GROUP, JOB_PLURAL, "status", "patch", false },
    { "controller", "", "events", "", "create patch", false },
    { "controller", "", "nodes", "", "get", false },
    { "controller", "coordination.k8s.io", "leases", "", "get create update", false },
};
#define RIGHTS (sizeof rights / sizeof rights[0])

int command_check(const struct subcommand *self, char *const *argv)
{
    struct query query;
    struct error err;
    int          status = query_begin(&query, self, argv, 0, 0, 0), missing;

    if (status != 0)
        return status;
    missing = ask_all(&query, &err);
    if (missing < 0)
        log_error("%s", err.text);
    else if (missing > 0)
        log_error(
            "namespace %s: you lack rights that submit needs; ask your administrator for them",
            query.place.space);
    query_end(&query);
    return missing != 0 ? EXIT_UNREACHABLE : 0;
}

/* Returns how many rows lack a right that submit needs; -1: the cluster does not tell. */
static int ask_all(const struct query *query, struct error *err)
{
    struct strlist missing = { 0 };
    size_t         i, k;
    int            count = 0, rc = 0;

    printf("namespace %s:\n", query->place.space);
    for (i = 0; i < RIGHTS && rc >= 0; i++) {
        rc = ask_row(query, i, &missing, err);
        if (rc < 0)
            break;
        printf("  %-22s %s%s%s", rights[i].what, rights[i].resource,
               rights[i].below[0] != '\0' ? "/" : "", rights[i].below);
        for (k = 0; k < missing.count; k++)
            printf("%s %s", k == 0 ? ": you may not" : ",", missing.item[k]);
        printf("%s\n", missing.count == 0 ? ": yes" : "");
        count += missing.count > 0 && rights[i].is_needed;
        strlist_clear(&missing);
    }
    strlist_clear(&missing);
    return rc < 0 ? -1 : count;
}

static int ask_row(const struct query *query, size_t number, struct strlist *missing,
                   struct error *err)
{
    const char *verb = rights[number].verbs;
    size_t      length;
    int         rc;

    for (; *verb != '\0'; verb += length + strspn(verb + length, " ")) {
        length = strcspn(verb, " ");
        rc = ask(query, number, verb, length, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            strlist_add_bytes(missing, verb, length);
    }
    return 0;
}

static int ask(const struct query *query, size_t number, const char *verb, size_t length,
               struct error *err)
{
    json_t *attributes =
        json_pack("{ssss%ssssss}", "namespace", query->place.space, "verb", verb, length, "group",
                  rights[number].group, "resource", rights[number].resource, "subresource",
                  rights[number].below);

    return rights_ask(query->place.api, attributes, err);
}
