/* xalloc.c - see xalloc.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "xalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void xalloc_die(void)
{
    static const char text[] = "muster: out of memory\n";

    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(70);
}

void *xmalloc(size_t size)
{
    void *made = malloc(size > 0 ? size : 1);

    if (made == NULL)
        xalloc_die();
    return made;
}

void *xcalloc(size_t count, size_t size)
{
    void *made = calloc(count > 0 ? count : 1, size > 0 ? size : 1);

    if (made == NULL)
        xalloc_die();
    return made;
}

void *xrealloc(void *old, size_t size)
{
    void *made = realloc(old, size > 0 ? size : 1);

    if (made == NULL)
        xalloc_die();
    return made;
}

void *xreallocarray(void *old, size_t count, size_t size)
{
    if (size > 0 && count > SIZE_MAX / size)
        xalloc_die();
    return xrealloc(old, count * size);
}

char *xstrdup(const char *text)
{
    return xmemdup(text, strlen(text) + 1);
}

char *xstrndup(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char  *made = xmalloc(length + 1);

    memcpy(made, text, length);
    made[length] = '\0';
    return made;
}

void *xmemdup(const void *bytes, size_t size)
{
    void *made = xmalloc(size);

    if (size > 0)
        memcpy(made, bytes, size);
    return made;
}

char *xasprintf(const char *format, ...)
{
    va_list ap;
    char   *made;
    int     n;

    va_start(ap, format);
    n = vasprintf(&made, format, ap);
    va_end(ap);
    if (n < 0)
        xalloc_die();
    return made;
}
