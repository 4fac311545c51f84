/* pattern.c - see pattern.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/pattern.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9

/* A place to which the comparison may return: a '*' or '@' that takes one more byte. */
struct retry {
    const char          *pattern;     /* what follows it; NULL: there is none */
    const char          *begin, *end; /* of what it has taken */
    bool                 is_device;
    struct pattern_match match; /* what was known before it */
};

static bool   retry_takes_more(struct retry *retry, const char **pattern, const char **text,
                               struct pattern_match *match);
static size_t step(char what, const char *text, struct pattern_match *match);
static size_t number_step(const char *text, struct pattern_match *match);

/* After a second '*' or '@' fits, the first need not be tried again: with less text before it,
 * the second would have had more to choose from. */
bool pattern_fits(const char *pattern, const char *text, struct pattern_match *match)
{
    struct retry retry = { 0 };
    size_t       size;

    *match = (struct pattern_match){ 0 };
    while (*pattern != '\0' || *text != '\0') {
        if (*pattern == '*' || *pattern == '@') {
            retry = (struct retry){ pattern + 1, text, text, *pattern == '@', *match };
            if (retry.is_device && !retry_takes_more(&retry, &pattern, &text, match))
                return false;
            pattern = retry.pattern;
            continue;
        }
        size = *pattern != '\0' ? step(*pattern, text, match) : 0;
        if (size > 0) {
            pattern++;
            text += size;
        } else if (!retry_takes_more(&retry, &pattern, &text, match)) {
            return false;
        }
    }
    return true;
}

static bool retry_takes_more(struct retry *retry, const char **pattern, const char **text,
                             struct pattern_match *match)
{
    if (retry->pattern == NULL || *retry->end == '\0')
        return false;
    retry->end++;
    *pattern = retry->pattern;
    *text = retry->end;
    *match = retry->match;
    if (retry->is_device) {
        match->device = retry->begin;
        match->device_size = (size_t)(retry->end - retry->begin);
    }
    return true;
}

/* Returns how many bytes of the text fit one character of a pattern; 0: they do not. */
static size_t step(char what, const char *text, struct pattern_match *match)
{
    size_t size;

    switch (what) {
    case '#':
        return number_step(text, match);
    case '~':
        return strcspn(text, " ");
    case '%':
        size = pattern_pci_size(text);
        match->device = size > 0 ? text : match->device;
        match->device_size = size > 0 ? size : match->device_size;
        return size;
    default:
        return *text == what;
    }
}

static size_t number_step(const char *text, struct pattern_match *match)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > DIGITS_MAX)
        return 0;
    if (match->numbers < PATTERN_NUMBERS)
        match->number[match->numbers] = strtol(text, NULL, 10);
    match->numbers++;
    return digits;
}

size_t pattern_pci_size(const char *text)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    size_t            domain = strspn(text, hex), size = domain;

    if (domain < 4 || domain > 8 || text[size] != ':' || strspn(text + size + 1, hex) != 2 ||
        text[size + 3] != ':' || strspn(text + size + 4, hex) != 2)
        return 0;
    size += strlen(":3b:00");
    if (text[size] == '.' && text[size + 1] >= '0' && text[size + 1] <= '7')
        size += 2;
    return size;
}
