/* watch.h - a list of objects that is kept up to date
 *
 * A watch lists the objects, then receives the changes since then. When its connection ends, it
 * resumes at the last version that an object or bookmark had. If the server no longer knows
 * that version (410), the watch lists again.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WATCH_H
#define MUSTER_WATCH_H

#include "api/api.h"

struct watch_ops {
    void (*begin)(void *arg); /* a list follows; objects missing from it are gone */
    void (*change)(void *arg, json_t *object, bool is_gone); /* object: borrowed */
};

struct watch;

/* query: for example "labelSelector=a%3Db"; copied. */
struct watch *watch_open(struct api *api, const char *path, const char *query,
                         const struct watch_ops *ops, void *arg);
void          watch_close(struct watch *watch);

/* Lists and connects if necessary. Call it before api_wait(). -1: the list cannot be read. */
int watch_step(struct watch *watch, struct error *err);

/* Handles one line of a watch; public for tests. -1: the list must be read again. */
int watch_take_line(struct watch *watch, const char *line, size_t size);

#endif
