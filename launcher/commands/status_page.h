/* status_page.h - muster status --html: the page of a run as one file
 *
 * It shows what the launcher has left in the run's directory: at its end, or when it last wrote
 * status.json.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STATUS_PAGE_H
#define MUSTER_STATUS_PAGE_H

#include "err.h"
#include "history/history.h"

/* Writes the page of that run to path, which has its name once it is whole; "-": to standard
 * output. -1 with err. */
int status_page_write(const struct past_run *run, const char *path, struct error *err);

#endif
