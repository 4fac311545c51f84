/* warm_list.h - the parts of files that a good run has read
 *
 *     # muster warm 1
 *     OFFSET LENGTH PATH
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_WARM_LIST_H
#define MUSTER_AGENT_WARM_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define WARM_LIST_BYTES_MAX (64u << 20)
#define WARM_RANGES_MAX     (1u << 20)

struct warm_range {
    int64_t offset, length;
    char   *path;
};

struct warm_list {
    struct warm_range *range;
    size_t             count;
    int64_t            bytes;
};

/* -1 with "line N: why"; then list is empty. */
int   warm_list_parse(const char *text, struct warm_list *list, struct error *err);
/* Copies path. Does nothing if the list is full, or if path has a line break. */
void  warm_list_add(struct warm_list *list, int64_t offset, int64_t length, const char *path);
/* Sorts libraries first, since imports wait for them. Then by path and offset. */
void  warm_list_sort(struct warm_list *list);
char *warm_list_text(const struct warm_list *list); /* caller frees */
void  warm_list_clear(struct warm_list *list);

/* Adds the ranges of all files below path (or of the file path) that are in memory. */
void  warm_list_look(struct warm_list *list, const char *path);

#endif
