/* toleration.h - parses a Pod's toleration in Arena's syntax
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOLERATION_H
#define MUSTER_TOLERATION_H

#include <jansson.h>

#include "err.h"

/* Parses "all", or KEY[=VALUE][:EFFECT][,OPERATOR], into the API's form. Returns a new
 * reference, or NULL. */
json_t *toleration_parse(const char *value, struct error *err);

#endif
