/* hostfile.c - see hostfile.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/hostfile.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "plan/host_parser.h"
#include "plan/hostword.h"
#include "xalloc.h"

static char *dup_or_null(const char *text);

int hostfile_read(const char *path, struct hostlist *hosts, struct error *err)
{
    size_t size;
    char  *text = file_read(path, HOSTFILE_BYTES_MAX, &size, err);
    int    rc;

    *hosts = (struct hostlist){ 0 };
    if (text == NULL)
        return -1;
    rc = hostfile_parse(strcmp(path, "-") == 0 ? "stdin" : path, text, size, hosts, err);
    free(text);
    return rc;
}

int hostfile_parse(const char *name, const char *text, size_t size, struct hostlist *hosts,
                   struct error *err)
{
    struct host_parser p = { .name = name, .hosts = hosts };
    int           rc;

    *hosts = (struct hostlist){ 0 };
    rc = host_parser_read(&p, text, size, err);
    if (rc == 0 && hosts->count == 0)
        rc = err_set(err, "%s: contains no host; a line looks like \"te1 slots=4\"", name);
    return host_parser_finish(&p, rc);
}

int hostlist_from_discovery(const char *name, const char *text, size_t size, int default_slots,
                            struct hostlist *hosts, struct error *err)
{
    struct host_parser p = { .name = name, .hosts = hosts, .is_found = true,
                        .default_slots = default_slots };
    int           rc;

    *hosts = (struct hostlist){ 0 };
    rc = host_parser_read(&p, text, size, err);
    if (rc == 0 && hosts->count == 0)
        rc = err_set(err, "%s: prints no host; a line looks like \"te1:4\"", name);
    tdestroy(p.lines, free);
    return host_parser_finish(&p, rc);
}

/* The list has no field for its capacity, which is the next power of two. */
void hostlist_take(struct hostlist *hosts, const struct host *host)
{
    size_t count = hosts->count;

    if ((count & (count - 1)) == 0)
        hosts->host = xreallocarray(hosts->host, count > 0 ? 2 * count : 1, sizeof *host);
    hosts->host[hosts->count++] = *host;
}

void hostlist_add(struct hostlist *hosts, const char *name, int slots)
{
    struct host host = { .name = xstrdup(name), .slots = slots, .is_counted = true };

    hostlist_take(hosts, &host);
}

bool hostlist_is_uncounted(const struct hostlist *hosts)
{
    size_t i;
    bool   is_uncounted = false;

    for (i = 0; i < hosts->count; i++) {
        if (!hosts->host[i].is_counted && hosts->host[i].slots > 1)
            return false;
        is_uncounted = is_uncounted || !hosts->host[i].is_counted;
    }
    return is_uncounted;
}

int hostlist_set_user(struct hostlist *hosts, const char *user, struct error *err)
{
    const char *at;
    size_t      i;

    if (hostword_check_user(user, &at, err) < 0)
        return -1;
    for (i = 0; i < hosts->count; i++)
        if (hosts->host[i].user == NULL)
            hosts->host[i].user = xstrdup(user);
    return 0;
}

void hostlist_clear(struct hostlist *hosts)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        host_clear(&hosts->host[i]);
    free(hosts->host);
    *hosts = (struct hostlist){ 0 };
}

void host_copy(struct host *copy, const struct host *host)
{
    *copy = *host;
    copy->name = dup_or_null(host->name);
    copy->user = dup_or_null(host->user);
    copy->addr = dup_or_null(host->addr);
    copy->iface = dup_or_null(host->iface);
    copy->python = dup_or_null(host->python);
    copy->cwd = dup_or_null(host->cwd);
    copy->env = (struct strlist){ 0 };
    strlist_append(&copy->env, &host->env);
}

static char *dup_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

void host_clear(struct host *host)
{
    free(host->name);
    free(host->user);
    free(host->addr);
    free(host->iface);
    free(host->python);
    free(host->cwd);
    strlist_clear(&host->env);
}
