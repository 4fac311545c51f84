/* conf.h - muster.conf: the same settings as the long options, one per line
 *
 *     [muster]
 *     fanout = 128
 *     env = NCCL_DEBUG=INFO
 *
 * Read with inih. Unknown sections and keys are errors with file and line.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONF_H
#define MUSTER_CONF_H

#include "err.h"
#include "options/options.h"

/* Apply path. 0; also 0 when it does not exist and must_exist is false. -1
 * with "path:line: why". */
int conf_read(const char *path, bool must_exist, struct options *options, struct error *err);

/* The same from memory, for tests and fuzzing. */
int conf_parse(const char *name, const char *text, struct options *options, struct error *err);

#endif
