/* conf.h - muster.conf: the same settings as the long options, one per line
 *
 *     [muster]
 *     fanout = 128
 *     env = NCCL_DEBUG=INFO
 *
 * inih reads the file. An unknown section or key is an error with file and line.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONF_H
#define MUSTER_CONF_H

#include "err.h"
#include "options/options.h"

/* Applies the settings of the file path. Returns 0, also if the file does not exist and
 * must_exist is false; -1 with "path:line: why". */
int conf_read(const char *path, bool must_exist, struct options *options, struct error *err);

/* Applies settings from memory, for tests and fuzzing. */
int conf_parse(const char *name, const char *text, struct options *options, struct error *err);

#endif
