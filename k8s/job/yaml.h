/* yaml.h - between YAML and JSON
 *
 * What Kubernetes' users write: one document, no aliases, no tags of their own. Unquoted true,
 * false, null and numbers (0644 is octal) are such; all else is a string. JSON is read as the YAML
 * that it is.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_YAML_H
#define MUSTER_YAML_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "err.h"

#define YAML_BYTES_MAX (1 << 20)
#define YAML_DEPTH_MAX 64

/* A new reference, or NULL with "NAME:LINE: why". */
json_t *yaml_parse(const char *name, const char *bytes, size_t size, struct error *err);

/* Write it as a document of a stream, after "---". -1 if that failed, with errno. */
int yaml_print(const json_t *value, FILE *out);

#endif
