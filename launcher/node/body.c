/* body.c - see body.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/body.h"

#include <string.h>

#include "xalloc.h"

#define TEXT_MAX 4096 /* bytes copied from a text */

int body_small_int(const json_t *body, const char *key, int otherwise, int most)
{
    int64_t value = body_int(body, key, otherwise);

    return value >= 0 && value <= most ? (int)value : -1;
}

int64_t body_int(const json_t *body, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(body, key);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

const char *body_text(const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));

    return text != NULL ? text : "";
}

char *body_optional_text(const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));

    return text != NULL ? xstrndup(text, strnlen(text, TEXT_MAX)) : NULL;
}
