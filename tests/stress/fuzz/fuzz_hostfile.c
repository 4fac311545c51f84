/* fuzz_hostfile.c - any bytes as a hostfile, and as the argument of -H
 *
 * What is accepted must be harmless: names that are no options and hold no
 * shell or terminal characters, slots within bounds, variables with names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "groups/host_group.h"
#include "log.h"
#include "nodeset_place.h"
#include "plan/environ.h"
#include "plan/hostfile.h"
#include "xalloc.h"

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

static void check_word(const char *word)
{
    static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               ".-_@\\+#:%";

    expect(*word != '\0' && *word != '-' && strspn(word, fine) == strlen(word));
}

static void check_hosts(const struct hostlist *hosts)
{
    const struct host *host;
    size_t             i, j;
    char              *name;

    expect(hosts->count <= HOSTFILE_HOSTS_MAX);
    for (i = 0; i < hosts->count; i++) {
        host = &hosts->host[i];
        check_word(host->name);
        if (host->user != NULL)
            check_word(host->user);
        if (host->addr != NULL)
            check_word(host->addr);
        expect(host->slots >= 1 && host->slots <= HOST_SLOTS_MAX);
        expect(host->port >= 0 && host->port <= 65535);
        expect(host->cwd == NULL || host->cwd[0] == '/');
        for (j = 0; j < host->env.count; j++) {
            name = xstrndup(host->env.item[j], strcspn(host->env.item[j], "="));
            expect(environ_is_name(name));
            free(name);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hostlist hosts;
    struct error    err;
    char           *argument = xstrndup((const char *)data, size);
    int             rc;

    while (strchr(argument, '^') != NULL)
        *strchr(argument, '^') = 'x'; /* "^FILE": no file of this machine is read */
    log_init("fuzz", LOG_ERROR);
    rc = hostfile_parse("fuzz", (const char *)data, size, &hosts, &err);
    expect(rc == 0 ? hosts.count > 0 : hosts.count == 0 && err.text[0] != '\0');
    check_hosts(&hosts);
    hostlist_clear(&hosts);
    rc = hostlist_from_argument(argument, 1, &hosts, &err);
    expect(rc == 0 ? hosts.count > 0 : hosts.count == 0 && err.text[0] != '\0');
    check_hosts(&hosts);
    hostlist_clear(&hosts);
    host_group_clear();
    free(argument);
    return 0;
}
