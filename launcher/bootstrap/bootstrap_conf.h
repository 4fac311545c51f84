/* bootstrap_conf.h - reads bootstrap.conf, the settings of muster bootstrap
 *
 *     [data]
 *     mount = /data
 *     label = data
 *
 * It is read with inih. Unknown sections and keys, invalid values and keys that are set twice
 * are errors with file and line. The agent gets the settings as JSON: all values are texts,
 * sizes are in bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BOOTSTRAP_CONF_H
#define MUSTER_BOOTSTRAP_CONF_H

#include <jansson.h>

#include "err.h"

/* Returns {"data":{"mount":"/data", ...}, ...}; the caller releases it. NULL with err:
 * "path:line: why". */
json_t *bootstrap_conf_read(const char *path, struct error *err);
/* The same from memory, for tests and fuzzing. */
json_t *bootstrap_conf_parse(const char *name, const char *text, struct error *err);

#endif
