/* ssh_pattern.c - see ssh_pattern.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/ssh_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static bool matches(const char *text, const char *pattern);

enum ssh_pattern_result ssh_pattern_try(const char *text, const char *pattern)
{
    if (pattern[0] == '!')
        return matches(text, pattern + 1) ? SSH_PATTERN_EXCLUDED : SSH_PATTERN_NONE;
    return matches(text, pattern) ? SSH_PATTERN_MATCHES : SSH_PATTERN_NONE;
}

bool ssh_pattern_list_matches(const char *text, const char *list)
{
    enum ssh_pattern_result result = SSH_PATTERN_NONE;
    char                   *copy = xstrdup(list), *rest = copy, *pattern;

    while (result != SSH_PATTERN_EXCLUDED && (pattern = strsep(&rest, ",")) != NULL)
        if (ssh_pattern_try(text, pattern) != SSH_PATTERN_NONE)
            result = ssh_pattern_try(text, pattern);
    free(copy);
    return result == SSH_PATTERN_MATCHES;
}

static bool matches(const char *text, const char *pattern)
{
    const char *star = NULL, *retry = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
