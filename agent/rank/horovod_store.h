/* horovod_store.h - what the ranks of Horovod tell each other before they connect
 *
 * hvd.init() puts the addresses of its rank into a store, waits for those of the others, gets
 * them, and deletes its own once all are connected. It does so in several scopes: "global",
 * "local_HOST", "cross_LOCALRANK". The requests are those of Horovod's HTTPStore
 * (horovod/common/gloo/http_store.cc), the answers those of the server that horovodrun starts
 * (horovod/runner/http/http_server.py), both of v0.28.1.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_HOROVOD_STORE_H
#define MUSTER_AGENT_HOROVOD_STORE_H

#include <stddef.h>

#define HOROVOD_PATH_MAX  512           /* characters of "/SCOPE/KEY" */
#define HOROVOD_VALUE_MAX (1u << 20)    /* bytes: a rank has 136 for each other one */
#define HOROVOD_STORE_MAX (256u << 20)  /* bytes of all values and paths */

struct horovod_store;

struct horovod_store *horovod_store_new(void);
void                  horovod_store_free(struct horovod_store *store); /* NULL is fine */

/* These return an HTTP status: 200; 400 if path is not "/SCOPE/KEY"; and as said below. */

/* Copies the value, which may be empty. 413: it is too large; 507: the store is full. What
 * hvd.elastic puts for horovodrun ("worker_addresses") contains a secret, and is thrown away. */
int horovod_store_put(struct horovod_store *store, const char *path, const void *value,
                      size_t size);
/* *value is borrowed until the next call. 404: no rank has put it. */
int horovod_store_get(const struct horovod_store *store, const char *path, const void **value,
                      size_t *size);
/* 200 also if there is none. */
int horovod_store_delete(struct horovod_store *store, const char *path);

#endif
