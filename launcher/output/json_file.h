/* json_file.h - the file that --json names
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JSON_FILE_H
#define MUSTER_JSON_FILE_H

#include <jansson.h>

#include "err.h"

/* Can path be written? Ask before anything is started, not after days. NULL and "-" can. -1
 * with err. */
int json_file_try(const char *path, struct error *err);

/* Open path for such a document. A pipe without a reader is an error: the run must not wait
 * for one. -1 with errno. */
int json_file_open(const char *path);

/* Write body to path ("-" is stdout) and release it. -1 if that failed, after logging the
 * error. */
int json_file_write(const char *path, json_t *body);

#endif
