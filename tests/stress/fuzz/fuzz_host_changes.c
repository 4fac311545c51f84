/* fuzz_host_changes.c - any bytes as what a hostfile or a discovery script says now, beside before
 *
 * Up to the first byte 1 is before, the rest is now. What has changed must be all that has: what
 * came is only in one list, what is gone only in the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/host_changes.h"
#include "log.h"
#include "xalloc.h"

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

static bool has(const struct hostlist *hosts, const char *name)
{
    size_t i;

    for (i = 0; i < hosts->count; i++)
        if (strcmp(hosts->host[i].name, name) == 0)
            return true;
    return false;
}

static void check(const struct hostlist *before, const struct hostlist *now)
{
    struct host_changes changes;
    char               *words;
    size_t              i;

    host_changes_find(&changes, before, now);
    words = host_changes_words(&changes);
    expect((words[0] != '\0') == host_changes_any(&changes));
    expect(before->count + changes.came.count == now->count + changes.gone.count);
    for (i = 0; i < changes.came.count && i < 100; i++)
        expect(!has(before, changes.came.item[i]) && has(now, changes.came.item[i]));
    for (i = 0; i < changes.gone.count && i < 100; i++)
        expect(has(before, changes.gone.item[i]) && !has(now, changes.gone.item[i]));
    free(words);
    host_changes_clear(&changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char     *text = (const char *)data, *mark = memchr(text, 1, size);
    size_t          first = mark != NULL ? (size_t)(mark - text) : 0;
    size_t          from = mark != NULL ? first + 1 : 0;
    struct hostlist before = { 0 }, now = { 0 };
    struct error    err;
    int             rc;

    log_init("fuzz", LOG_ERROR);
    hostfile_parse("before", text, first, &before, &err);
    rc = hostlist_from_discovery("now", text + from, size - from, 2, &now, &err);
    expect(rc == 0 ? now.count > 0 : now.count == 0 && err.text[0] != '\0');
    check(&before, &now);
    check(&now, &before);
    hostlist_clear(&now);
    hostfile_parse("now", text + from, size - from, &now, &err);
    check(&before, &now);
    hostlist_clear(&before);
    hostlist_clear(&now);
    return 0;
}
