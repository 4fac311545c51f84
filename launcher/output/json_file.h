/* json_file.h - the file that --json names
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JSON_FILE_H
#define MUSTER_JSON_FILE_H

#include <jansson.h>

#include "err.h"

/* Can path be written? Call this before the run starts, rather than fail after days. NULL and
 * "-" can be written. Returns -1 with err. */
int json_file_try(const char *path, struct error *err);

/* Opens path for a JSON document. A pipe without a reader is an error: the run must not wait
 * for one. Returns -1 with errno. */
int json_file_open(const char *path);

/* Writes body to path ("-" is stdout) and releases it. If that fails, logs the error and
 * returns -1. */
int json_file_write(const char *path, json_t *body);

#endif
