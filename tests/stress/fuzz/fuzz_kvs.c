/* fuzz_kvs.c - KVS frames of two nodes, one JSON text a line; lines take turns
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "rendezvous/kvs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_all(struct kvs *kvs)
{
    json_t *body;
    int     more = 1;

    while ((body = kvs_take(kvs)) != NULL) {
        if (!more || json_dumpb(body, NULL, 0, JSON_COMPACT) > FRAME_BODY_MAX)
            abort();
        more = json_is_true(json_object_get(body, "more"));
        json_decref(body);
    }
    if (more)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvs *kvs = kvs_new(2);
    const char *at = (const char *)data, *end = at + size;
    size_t      node = 0;

    while (at < end) {
        const char  *lf = memchr(at, '\n', (size_t)(end - at));
        size_t       length = (size_t)((lf != NULL ? lf : end) - at);
        json_t      *body = json_loadb(at, length, JSON_REJECT_DUPLICATES, NULL);
        struct error err = { "" };
        int          rc = body != NULL ? kvs_node_in(kvs, node, body, &err) : 0;

        if (rc < 0 && err.text[0] == '\0')
            abort();
        if (rc > 0)
            take_all(kvs);
        json_decref(body);
        node = !node;
        at += length + 1;
    }
    kvs_free(kvs);
    return 0;
}
