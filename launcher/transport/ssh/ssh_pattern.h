/* ssh_pattern.h - the patterns of ssh_config(5) and known_hosts
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_PATTERN_H
#define MUSTER_SSH_PATTERN_H

#include <stdbool.h>

enum ssh_pattern_result {
    SSH_PATTERN_NONE,     /* nothing matches */
    SSH_PATTERN_MATCHES,
    SSH_PATTERN_EXCLUDED, /* a pattern with '!' matches: nothing else counts */
};

/* text against one pattern: '*' and '?' have their meaning, and '!' in front negates it. */
enum ssh_pattern_result ssh_pattern_try(const char *text, const char *pattern);

/* text against patterns that are apart by commas. */
bool ssh_pattern_list_matches(const char *text, const char *list);

#endif
