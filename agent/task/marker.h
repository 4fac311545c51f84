/* marker.h - the newest file that a pattern names, which shows that a checkpoint is complete
 *
 * The file system may hang: only a child of the agent looks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_MARKER_H
#define MUSTER_AGENT_MARKER_H

#include <limits.h>
#include <stdint.h>

#include <jansson.h>

struct marker {
    int64_t file_ns; /* its time; 0: no file matches */
    char    path[PATH_MAX];
};

/* Finds the newest file that matches the glob(7). */
void marker_find(const char *glob, struct marker *found);

/* Returns {"path", "says": its first line if it is short, "file_ns", "age_ns"}: how long ago it was
 * written, by our clock, but at most most_ns, since then it was not there, and not in the future,
 * where the clock of a file server may be. */
json_t *marker_line(const struct marker *found, int64_t most_ns);

/* Returns the present time of our clock, as files have it. */
int64_t marker_now_ns(void);

#endif
