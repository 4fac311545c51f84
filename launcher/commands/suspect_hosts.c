/* suspect_hosts.c - see suspect_hosts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/suspect_hosts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/table.h"
#include "exit_code.h"
#include "history/suspects.h"
#include "hosts/host_source.h"
#include "log.h"
#include "sanitize.h"
#include "xalloc.h"

#define LINES_MAX 8 /* warnings about single hosts */

static void  tell_one(const struct options *options, const struct suspect *suspect);
static void  read_all(struct suspects *list);
static char *words_of(const struct suspect *suspect);
static int   forget(const struct suspects *list, const struct options *options,
                    const struct selection *hosts);
static bool  is_named(const struct selection *hosts, const char *host);

void suspect_hosts_exclude(struct options *options)
{
    struct suspects list;
    struct error    err;
    size_t          i;

    if (!options->exclude_suspects)
        return;
    if (suspects_read(&list, &err) < 0)
        log_warn("--exclude-suspects: %s", err.text);
    for (i = 0; i < list.count; i++)
        strlist_add(&options->suspects, list.item[i].host);
    suspects_clear(&list);
}

void suspect_hosts_tell(const struct options *options, const struct hostlist *hosts,
                        const struct selection *selected)
{
    struct suspects       list;
    const struct suspect *suspect;
    size_t                i, found = 0;

    if (options->command != COMMAND_RUN)
        return;
    read_all(&list);
    for (i = 0; i < hosts->count && list.count > 0; i++) {
        suspect = suspects_find(&list, hosts->host[i].name);
        if (suspect == NULL ||
            (!options->exclude_suspects && !is_named(selected, suspect->host)))
            continue;
        if (found++ < LINES_MAX)
            tell_one(options, suspect);
    }
    if (found > LINES_MAX)
        log_warn("%zu more hosts are suspects: muster status shows all", found - LINES_MAX);
    if (found > 0 && !options->exclude_suspects)
        log_note("--exclude-suspects leaves them out; muster clean --suspects forgets them");
    suspects_clear(&list);
}

static void tell_one(const struct options *options, const struct suspect *suspect)
{
    char *words = words_of(suspect);

    if (options->exclude_suspects)
        log_note("--exclude-suspects leaves out %s", words);
    else
        log_warn("suspect %s", words);
    free(words);
}

void suspect_hosts_print(FILE *out)
{
    struct suspects list;
    size_t          i;
    char           *words;

    read_all(&list);
    for (i = 0; i < list.count; i++) {
        words = words_of(&list.item[i]);
        fprintf(out, "suspect %s\n", words);
        free(words);
    }
    suspects_clear(&list);
}

/* If the directory cannot be read, the user has a warning already: the runs are beside it. */
static void read_all(struct suspects *list)
{
    struct error err;

    if (suspects_read(list, &err) < 0)
        log_info("the suspects of earlier runs are not known: %s", err.text);
}

/* "te2: REASON (3 h ago, run 20261130-103000-c3d4)" */
static char *words_of(const struct suspect *suspect)
{
    const int64_t now = time(NULL);
    char         *age = table_age(now > suspect->since ? now - suspect->since : 0), *words, *safe;

    words = xasprintf("%s: %s (%s ago, run %s)", suspect->host, suspect->reason, age,
                      suspect->run_id != NULL ? suspect->run_id : "?");
    safe = sanitize_text(words, strlen(words));
    free(words);
    free(age);
    return safe;
}

int suspect_hosts_forget(const struct options *options, char *const *here)
{
    struct suspects     list;
    struct hostlist     hosts = { 0 };
    struct selection    named = { 0 };
    struct select_rules rules = select_rules_of(options);
    struct error        err;
    int                 status = EXIT_CREATE;

    if (suspects_read(&list, &err) < 0)
        goto failed;
    status = EXIT_DATA;
    if (options_name_hosts(options) &&
        (host_source_find(options, here, &hosts, &err) < 0 ||
         select_slots(&hosts, &rules, &named, &err) < 0))
        goto failed;
    status = forget(&list, options, options_name_hosts(options) ? &named : NULL);
    goto out;
failed:
    log_error("%s", err.text);
out:
    selection_clear(&named);
    hostlist_clear(&hosts);
    suspects_clear(&list);
    return status;
}

/* hosts: NULL: all. */
static int forget(const struct suspects *list, const struct options *options,
                  const struct selection *hosts)
{
    char        *directory = suspects_directory(), *words;
    struct error err;
    size_t       i, known = 0;
    int          status = 0;

    for (i = 0; i < list->count; i++) {
        if (hosts != NULL && !is_named(hosts, list->item[i].host))
            continue;
        known++;
        words = words_of(&list->item[i]);
        if (!options->dry_run && suspects_remove(directory, list->item[i].host, &err) < 0) {
            log_error("%s", err.text);
            status = EXIT_CREATE;
        } else {
            printf("%s %s\n", options->dry_run ? "would forget" : "forgotten:", words);
        }
        free(words);
    }
    if (known == 0)
        puts("no suspects");
    free(directory);
    return status;
}

static bool is_named(const struct selection *hosts, const char *host)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        if (strcmp(hosts->node[i].host->name, host) == 0)
            return true;
    return false;
}
