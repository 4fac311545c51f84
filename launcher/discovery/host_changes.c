/* host_changes.c - see host_changes.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "discovery/host_changes.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "hostrange.h"
#include "xalloc.h"

static const struct host **sorted(const struct hostlist *hosts);
static int  compare(const void *a, const void *b);
static bool is_same(const struct host *a, const struct host *b);
static bool is_same_text(const char *a, const char *b);
static void add_words(struct buffer *words, const struct strlist *names, const char *one,
                      const char *many);

void host_changes_find(struct host_changes *changes, const struct hostlist *before,
                       const struct hostlist *now)
{
    const struct host **old = sorted(before), **new = sorted(now);
    size_t              i = 0, j = 0;
    int                 order;

    *changes = (struct host_changes){ 0 };
    while (i < before->count || j < now->count) {
        order = i == before->count ? 1
                : j == now->count  ? -1
                                   : strcmp(old[i]->name, new[j]->name);
        if (order < 0) {
            strlist_add(&changes->gone, old[i++]->name);
        } else if (order > 0) {
            strlist_add(&changes->came, new[j++]->name);
        } else {
            if (!is_same(old[i], new[j]))
                strlist_add(&changes->changed, new[j]->name);
            i++, j++;
        }
    }
    free(old);
    free(new);
}

bool host_changes_any(const struct host_changes *changes)
{
    return changes->came.count + changes->gone.count + changes->changed.count > 0;
}

void host_changes_clear(struct host_changes *changes)
{
    strlist_clear(&changes->came);
    strlist_clear(&changes->gone);
    strlist_clear(&changes->changed);
}

char *host_changes_words(const struct host_changes *changes)
{
    struct buffer words = { 0 };

    add_words(&words, &changes->came, "is new", "are new");
    add_words(&words, &changes->gone, "is gone", "are gone");
    add_words(&words, &changes->changed, "has changed", "have changed");
    buffer_add(&words, "", 1);
    return words.bytes;
}

static const struct host **sorted(const struct hostlist *hosts)
{
    const struct host **list = xcalloc(hosts->count + 1, sizeof *list);
    size_t              i;

    for (i = 0; i < hosts->count; i++)
        list[i] = &hosts->host[i];
    qsort(list, hosts->count, sizeof *list, compare);
    return list;
}

static int compare(const void *a, const void *b)
{
    const struct host *const *one = a, *const *other = b;

    return strcmp((*one)->name, (*other)->name);
}

static bool is_same(const struct host *a, const struct host *b)
{
    size_t i;

    if (a->slots != b->slots || a->port != b->port || a->env.count != b->env.count ||
        !is_same_text(a->user, b->user) || !is_same_text(a->addr, b->addr) ||
        !is_same_text(a->iface, b->iface) || !is_same_text(a->python, b->python) ||
        !is_same_text(a->cwd, b->cwd))
        return false;
    for (i = 0; i < a->env.count; i++)
        if (strcmp(a->env.item[i], b->env.item[i]) != 0)
            return false;
    return true;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void add_words(struct buffer *words, const struct strlist *names, const char *one,
                      const char *many)
{
    char *folded;

    if (names->count == 0)
        return;
    folded = hostrange_fold(names);
    if (words->size > 0)
        buffer_add_text(words, "; ");
    buffer_add_text(words, folded);
    buffer_add_text(words, " ");
    buffer_add_text(words, names->count == 1 ? one : many);
    free(folded);
}
