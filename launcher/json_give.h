/* json_give.h - --json FILE
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JSON_GIVE_H
#define MUSTER_JSON_GIVE_H

#include <jansson.h>

/* Write body to path ("-" is stdout) and release it. -1 when that failed; it was said. */
int json_give(const char *path, json_t *body);

#endif
