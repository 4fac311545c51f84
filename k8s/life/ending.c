/* ending.c - see ending.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/ending.h"

#include <string.h>

#include <jansson.h>

#include "xalloc.h"

static char *words_of(const json_t *first);

char *ending_words(const char *message)
{
    json_t *report = message[0] == '{' ? json_loads(message, 0, NULL) : NULL;
    json_t *first = json_object_get(report, "first_failure");
    char   *words = NULL;

    if (json_is_null(first))
        words = xstrdup("");
    else if (json_is_object(first))
        words = words_of(first);
    json_decref(report);
    return words;
}

/* Describes the failure of a rank or a node, or another cause. */
static char *words_of(const json_t *first)
{
    const json_t *rank = json_object_get(first, "rank");
    const char   *node = json_string_value(json_object_get(first, "node"));
    const char   *stage = json_string_value(json_object_get(first, "stage"));
    const char   *text = json_string_value(json_object_get(first, "text"));
    int           label = node != NULL ? (int)strcspn(node, ".") : 0; /* the Pod's name */

    if (text == NULL)
        return NULL;
    if (json_is_integer(rank) && node != NULL)
        return xasprintf("rank %" JSON_INTEGER_FORMAT " on %.*s: %s", json_integer_value(rank),
                         label, node, text);
    if (node != NULL)
        return xasprintf("%.*s: %s%s%s", label, node, stage != NULL ? stage : "",
                         stage != NULL ? ": " : "", text);
    return xstrdup(text);
}
