/* strlist.c - see strlist.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "strlist.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static void   take(struct strlist *list, char *text);
static char  *format_text(const char *format, va_list ap);
static size_t env_find(const struct strlist *env, const char *name);

void strlist_add(struct strlist *list, const char *text)
{
    take(list, xstrdup(text));
}

void strlist_addf(struct strlist *list, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    take(list, format_text(format, ap));
    va_end(ap);
}

void strlist_add_bytes(struct strlist *list, const char *text, size_t size)
{
    take(list, xstrndup(text, size));
}

void strlist_append(struct strlist *list, const struct strlist *more)
{
    size_t i;

    for (i = 0; i < more->count; i++)
        strlist_add(list, more->item[i]);
}

bool strlist_has(const struct strlist *list, const char *text)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        if (strcmp(list->item[i], text) == 0)
            return true;
    return false;
}

void strlist_clear(struct strlist *list)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
    *list = (struct strlist){ 0 };
}

void env_set(struct strlist *env, const char *name, const char *value)
{
    char  *entry = xasprintf("%s=%s", name, value);
    size_t at = env_find(env, name);

    if (at == env->count) {
        take(env, entry);
        return;
    }
    free(env->item[at]);
    env->item[at] = entry;
}

static void take(struct strlist *list, char *text)
{
    if (list->count + 2 > list->room) {
        list->room = list->room > 0 ? list->room * 2 : 8;
        list->item = xreallocarray(list->item, list->room, sizeof *list->item);
    }
    list->item[list->count++] = text;
    list->item[list->count] = NULL;
}

void env_setf(struct strlist *env, const char *name, const char *format, ...)
{
    va_list ap;
    char   *value;

    va_start(ap, format);
    value = format_text(format, ap);
    va_end(ap);
    env_set(env, name, value);
    free(value);
}

static char *format_text(const char *format, va_list ap)
{
    char *text;

    if (vasprintf(&text, format, ap) < 0)
        text = xstrdup("");
    return text;
}

void env_unset(struct strlist *env, const char *name)
{
    size_t at = env_find(env, name);

    if (at == env->count)
        return;
    free(env->item[at]);
    env->item[at] = env->item[--env->count];
    env->item[env->count] = NULL;
}

const char *env_get(const struct strlist *env, const char *name)
{
    size_t at = env_find(env, name);

    return at < env->count ? strchr(env->item[at], '=') + 1 : NULL;
}

/* Returns the index of name in env, or count if env does not have it. */
static size_t env_find(const struct strlist *env, const char *name)
{
    size_t i, length = strlen(name);

    for (i = 0; i < env->count; i++)
        if (strncmp(env->item[i], name, length) == 0 && env->item[i][length] == '=')
            break;
    return i;
}

char *strlist_pack(const struct strlist *list, size_t *size)
{
    size_t i, at = 0, length;
    char  *bytes;

    *size = 0;
    for (i = 0; i < list->count; i++)
        *size += strlen(list->item[i]) + 1;
    bytes = xmalloc(*size);
    for (i = 0; i < list->count; i++) {
        length = strlen(list->item[i]) + 1;
        memcpy(bytes + at, list->item[i], length);
        at += length;
    }
    return bytes;
}

int strlist_unpack(struct strlist *list, const char *bytes, size_t size)
{
    const char *end;

    while (size > 0) {
        end = memchr(bytes, '\0', size);
        if (end == NULL)
            return -1;
        strlist_add(list, bytes);
        size -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    return 0;
}
