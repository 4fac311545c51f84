/* fuzz_pmi.c - what a rank may say on its PMI socket, or ask of the store of Horovod
 *
 * The first byte of each piece picks a rank, the second its length: requests
 * of several ranks, whole and in parts, cross each other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rank/horovod_store.h"
#include "rank/pmi.h"
#include "xalloc.h"

#define RANKS 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void ask_pmi(const uint8_t *data, size_t size);
static void ask_store(const uint8_t *data, size_t size);

static struct pmi      *pmi;
static struct evbuffer *in[RANKS], *out[RANKS];

static void barrier_cb(json_t *puts, bool more, void *arg)
{
    json_t      *body = json_pack("{s:o, s:b}", "put", puts, "more", more);
    struct error err;

    (void)arg;
    if (pmi_union(pmi, body, &err) < 0)
        abort(); /* what an agent sends, every agent can take */
    json_decref(body);
}

static void abort_cb(int local, int code, void *arg)
{
    (void)local, (void)code, (void)arg;
}

static void shard_cb(int local, const char *line, void *arg)
{
    (void)line, (void)arg;
    pmi_shard_answer(pmi, local, "cmd=shard_answer rc=0\n", 22, out[local]);
}

static void step_cb(int local, int64_t step, int64_t last, void *arg)
{
    (void)local, (void)step, (void)last, (void)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ask_pmi(data, size);
    ask_store(data, size);
    return 0;
}

static void ask_pmi(const uint8_t *data, size_t size)
{
    static const struct pmi_ops ops = { barrier_cb, abort_cb, shard_cb, step_cb };
    struct error err;
    size_t       take;
    int          i, rank;

    pmi = pmi_new("kvs", "(vector,(0,1,2))", RANKS, RANKS, &ops, NULL);
    for (i = 0; i < RANKS; i++) {
        in[i] = evbuffer_new();
        out[i] = evbuffer_new();
    }
    while (size > 2) {
        rank = data[0] % RANKS;
        take = data[1] < size - 2 ? data[1] : size - 2;
        evbuffer_add(in[rank], data + 2, take);
        data += 2 + take;
        size -= 2 + take;
        if (pmi_input(pmi, rank, in[rank], out[rank], &err) < 0)
            break;
        for (i = 0; i < RANKS; i++)
            pmi_release(pmi, i, out[i]);
    }
    for (i = 0; i < RANKS; i++) {
        evbuffer_free(in[i]);
        evbuffer_free(out[i]);
    }
    pmi_free(pmi);
}

/* The store takes any path, and gives back what it took. */
static void ask_store(const uint8_t *data, size_t size)
{
    struct horovod_store *store = horovod_store_new();
    char                 *path = xstrndup((const char *)data, size);
    const void           *value;
    size_t                got;

    if (horovod_store_put(store, path, data, size) == 200 &&
        horovod_store_get(store, path, &value, &got) == 200 &&
        (got != size || memcmp(value, data, size) != 0))
        abort();
    horovod_store_delete(store, path);
    if (horovod_store_get(store, path, &value, &got) == 200)
        abort();
    horovod_store_free(store);
    free(path);
}
