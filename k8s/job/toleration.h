/* toleration.h - a toleration of a Pod in Arena's words
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOLERATION_H
#define MUSTER_TOLERATION_H

#include <jansson.h>

#include "err.h"

/* "all", or KEY[=VALUE][:EFFECT][,OPERATOR], as the API has it: a new reference, or NULL. */
json_t *toleration_parse(const char *value, struct error *err);

#endif
