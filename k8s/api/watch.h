/* watch.h - a list of objects that is kept up to date
 *
 * Lists, then watches from there on. A watch that ends is resumed where it was, of which bookmarks
 * tell; if the server no longer knows that (410), the list is read anew.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WATCH_H
#define MUSTER_WATCH_H

#include "api/api.h"

struct watch_ops {
    void (*begin)(void *arg); /* a list comes: what it does not have is gone */
    void (*change)(void *arg, json_t *object, bool is_gone); /* object: borrowed */
};

struct watch;

/* query: such as "labelSelector=a%3Db"; copied. */
struct watch *watch_open(struct api *api, const char *path, const char *query,
                         const struct watch_ops *ops, void *arg);
void          watch_close(struct watch *watch);

/* Call it in each round, before api_wait(): lists and connects if necessary. -1: the list cannot be
 * read. */
int watch_step(struct watch *watch, struct error *err);

/* One line of a watch; for tests. 0, or -1 if the list has to be read anew. */
int watch_take_line(struct watch *watch, const char *line, size_t size);

#endif
