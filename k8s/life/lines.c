/* lines.c - see lines.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/lines.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"
#include "xalloc.h"

static char *last_lines(const char *text, size_t size);

bool lines_has(const json_t *list, const char *uid)
{
    const char *its;
    size_t      i;

    for (i = 0; i < json_array_size(list); i++) {
        its = json_string_value(json_object_get(json_array_get(list, i), "uid"));
        if (its != NULL && strcmp(its, uid) == 0)
            return true;
    }
    return false;
}

size_t lines_count(const json_t *list, int64_t attempt)
{
    size_t i, count = 0;

    for (i = 0; i < json_array_size(list); i++)
        count += json_integer_value(json_object_get(json_array_get(list, i), "attempt")) == attempt;
    return count;
}

json_t *lines_with(const json_t *list, const char *pod, const char *uid, int64_t attempt,
                   const char *text, size_t size)
{
    json_t *all = json_array(), *one;
    char   *last = last_lines(text, size);
    size_t  i;

    for (i = 0; i < json_array_size(list); i++) {
        one = json_array_get(list, i);
        if (json_integer_value(json_object_get(one, "attempt")) >= attempt)
            json_array_append(all, one);
    }
    json_array_append_new(all, json_pack("{sssssIss}", "pod", pod, "uid", uid, "attempt",
                                         (json_int_t)attempt, "text", last));
    free(last);
    return all;
}

/* Returns the end of text, in whole lines if it contains a newline. */
static char *last_lines(const char *text, size_t size)
{
    size_t   at = size > LINES_BYTES ? size - LINES_BYTES : 0, taken;
    char    *last = xmalloc(size - at + 1), *to = last;
    uint32_t code;

    if (at > 0 && memchr(text + at, '\n', size - at - 1) != NULL)
        at = (size_t)((const char *)memchr(text + at, '\n', size - at) - text) + 1;
    for (; at < size; at += taken) {
        taken = utf8_decode(text + at, size - at, &code);
        if (taken == 0 || text[at] == '\0') {
            taken = 1;
            *to++ = '?';
            continue;
        }
        memcpy(to, text + at, taken);
        to += taken;
    }
    *to = '\0';
    return last;
}
