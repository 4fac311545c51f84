/* page_way.h - how a user comes to the page of a run, which its launcher serves
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_WAY_H
#define MUSTER_PAGE_WAY_H

#include <stdbool.h>

#include "err.h"

#define PAGE_WAY_PORT 9464 /* of the user's machine, for a page that is at a socket file */

struct page_way {
    char *url; /* of the page */
    char *ssh; /* the command that forwards it to the user's own machine; NULL: any browser that
                  reaches the launcher's machine reaches the page */
    bool  is_file; /* the page is at a socket file: no browser opens it without that command */
};

/* served: where the launcher serves its figures, as in status.json: "http://127.0.0.1:9464/metrics"
 * or "unix:/run/a.sock". host: the launcher's machine. user: who may log in there. The caller
 * clears way. -1 with err: served is no such text, and there is nothing to clear. */
int  page_way_find(struct page_way *way, const char *served, const char *user, const char *host,
                   struct error *err);
void page_way_clear(struct page_way *way);

#endif
