/* names.h - read what getent says about names
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NAMES_H
#define MUSTER_AGENT_NAMES_H

#include <jansson.h>

#include "strlist.h"

/* {"te1":["10.0.0.1", ...], ...}, each list sorted, from the answer of getent ahosts that was
 * asked for each name and then for 127.0.0.1. The caller releases it. */
json_t *names_read(const char *text, const struct strlist *names);

#endif
