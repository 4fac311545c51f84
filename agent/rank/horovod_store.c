/* horovod_store.c - see horovod_store.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/horovod_store.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, TOO_LARGE = 413, FULL = 507 };

struct pair {
    char  *path;
    void  *value;
    size_t size;
};

struct horovod_store {
    void  *pairs; /* a tree of struct pair, by path; see tsearch(3) */
    size_t bytes;
};

static bool         is_path(const char *path);
static struct pair *find(const struct horovod_store *store, const char *path);
static size_t       bytes_of(const char *path, size_t size);
static int          compare(const void *one, const void *other);
static void         pair_free(void *pair);

struct horovod_store *horovod_store_new(void)
{
    return xcalloc(1, sizeof(struct horovod_store));
}

void horovod_store_free(struct horovod_store *store)
{
    if (store == NULL)
        return;
    tdestroy(store->pairs, pair_free);
    free(store);
}

int horovod_store_put(struct horovod_store *store, const char *path, const void *value,
                      size_t size)
{
    struct pair *pair;

    if (!is_path(path))
        return BAD_REQUEST;
    if (size > HOROVOD_VALUE_MAX)
        return TOO_LARGE;
    horovod_store_delete(store, path);
    if (strncmp(path, "/worker_addresses/", strlen("/worker_addresses/")) == 0)
        return OK;
    if (bytes_of(path, size) > HOROVOD_STORE_MAX - store->bytes)
        return FULL;
    pair = xcalloc(1, sizeof *pair);
    *pair = (struct pair){ .path = xstrdup(path), .value = xmalloc(size + 1), .size = size };
    memcpy(pair->value, value, size);
    if (tsearch(pair, &store->pairs, compare) == NULL)
        xalloc_die();
    store->bytes += bytes_of(path, size);
    return OK;
}

int horovod_store_get(const struct horovod_store *store, const char *path, const void **value,
                      size_t *size)
{
    const struct pair *pair;

    if (!is_path(path))
        return BAD_REQUEST;
    pair = find(store, path);
    if (pair == NULL)
        return NOT_FOUND;
    *value = pair->value;
    *size = pair->size;
    return OK;
}

int horovod_store_delete(struct horovod_store *store, const char *path)
{
    struct pair *pair;

    if (!is_path(path))
        return BAD_REQUEST;
    pair = find(store, path);
    if (pair == NULL)
        return OK;
    tdelete(pair, &store->pairs, compare);
    store->bytes -= bytes_of(path, pair->size);
    pair_free(pair);
    return OK;
}

/* Two names of visible characters, each with a slash before it. */
static bool is_path(const char *path)
{
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL, *at;

    if (slash == NULL || slash == path + 1 || slash[1] == '\0' || strchr(slash + 1, '/') != NULL)
        return false;
    for (at = path; *at > ' ' && *at < 0x7f; at++)
        if (at - path >= HOROVOD_PATH_MAX)
            return false;
    return *at == '\0';
}

static struct pair *find(const struct horovod_store *store, const char *path)
{
    const struct pair wanted = { .path = (char *)path };
    void *const       *node = tfind(&wanted, (void *const *)&store->pairs, compare);

    return node != NULL ? *node : NULL;
}

/* Empty values count, too: their number must have a limit. */
static size_t bytes_of(const char *path, size_t size)
{
    return sizeof(struct pair) + strlen(path) + size;
}

static int compare(const void *one, const void *other)
{
    return strcmp(((const struct pair *)one)->path, ((const struct pair *)other)->path);
}

static void pair_free(void *item)
{
    struct pair *pair = item;

    free(pair->path);
    free(pair->value);
    free(pair);
}
