/* ssh_pattern.h - the patterns of ssh_config(5) and known_hosts
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_PATTERN_H
#define MUSTER_SSH_PATTERN_H

#include <stdbool.h>

enum ssh_pattern_result {
    SSH_PATTERN_NONE,     /* nothing matches */
    SSH_PATTERN_MATCHES,
    SSH_PATTERN_EXCLUDED, /* a pattern with '!' matches: the others do not count */
};

/* Match text against one pattern with '*' and '?'; a leading '!' negates it. */
enum ssh_pattern_result ssh_pattern_try(const char *text, const char *pattern);

/* Match text against patterns that are separated by commas. */
bool ssh_pattern_list_matches(const char *text, const char *list);

#endif
