/* names.h - parses getent's answer about names
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NAMES_H
#define MUSTER_AGENT_NAMES_H

#include <jansson.h>

#include "strlist.h"

/* Returns {"te1":["10.0.0.1", ...], ...}, each list sorted. text: the answer of getent ahosts
 * to each name, each followed by 127.0.0.1. The caller releases the result. */
json_t *names_read(const char *text, const struct strlist *names);

#endif
