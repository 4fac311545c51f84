/* yaml.h - converts YAML to JSON and back
 *
 * Supports the YAML that people write for Kubernetes and for Accelerate: one document, no aliases,
 * no tags. Unquoted
 * true, false and null, and unquoted numbers (0644 is octal), have their own types; all else is
 * a string. JSON works too, because it is YAML.
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

/* Returns a new reference, or NULL with the error "NAME:LINE: why". */
json_t *yaml_parse(const char *name, const char *bytes, size_t size, struct error *err);

/* Writes value as a document of a stream, after "---". -1: failed, with errno. */
int yaml_print(const json_t *value, FILE *out);

#endif
