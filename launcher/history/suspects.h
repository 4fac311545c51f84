/* suspects.h - the hosts that spoilt runs of this user: $XDG_STATE_HOME/muster/suspects/HOST
 *
 * A run writes a host's file when it leaves that host out, or would have (elastic/leave_out.h).
 * The file stays until muster clean --suspects removes it. Each file has one JSON object: "host",
 * "reason", "run_id" and "since", a Unix time. There is one file per host, so runs that end at the
 * same time do not have to wait for each other.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SUSPECTS_H
#define MUSTER_SUSPECTS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define SUSPECTS_MAX 4096 /* files that are read */

struct suspect {
    char   *host, *reason, *run_id; /* as in the file: not safe to print */
    int64_t since;                  /* Unix time */
};

struct suspects {
    struct suspect *item; /* in the order of their hosts */
    size_t          count;
};

/* Returns the directory; NULL: there is neither HOME nor XDG_STATE_HOME. The caller frees it. */
char *suspects_directory(void);

/* Reads all of them. It is no error if there is no directory; files that are no suspects are
 * skipped. -1 with err. */
int  suspects_read(struct suspects *list, struct error *err);
void suspects_clear(struct suspects *list);
/* NULL: that host is no suspect. */
const struct suspect *suspects_find(const struct suspects *list, const char *host);

/* Makes the directory if need be, and the host's file; or removes it, which may be gone already.
 * Both may be called from any thread. -1 with err. */
int suspects_add(const char *directory, const struct suspect *suspect, struct error *err);
int suspects_remove(const char *directory, const char *host, struct error *err);

#endif
