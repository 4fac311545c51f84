/* bootstrap_conf.h - bootstrap.conf: what muster bootstrap is to do
 *
 *     [data]
 *     mount = /data
 *     label = data
 *
 * Read with inih. Unknown sections and keys, values that make no sense and keys that are set twice
 * are errors with file and line. The agent gets it as JSON, all values as texts, sizes in bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BOOTSTRAP_CONF_H
#define MUSTER_BOOTSTRAP_CONF_H

#include <jansson.h>

#include "err.h"

/* {"data":{"mount":"/data", ...}, ...}; the caller releases it. NULL with "path:line: why". */
json_t *bootstrap_conf_read(const char *path, struct error *err);
/* The same from memory, for tests and fuzzing. */
json_t *bootstrap_conf_parse(const char *name, const char *text, struct error *err);

#endif
