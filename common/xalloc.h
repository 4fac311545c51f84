/* xalloc.h - allocation that does not fail
 *
 * These end the process with a message and 70 when memory is out, so the rest of
 * the program has no allocation error paths. Free with free().
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_XALLOC_H
#define MUSTER_XALLOC_H

#include <stddef.h>

/* End the process as a failed allocation does: for libraries that return NULL. */
void xalloc_die(void) __attribute__((noreturn));

/* From here on libevent and jansson allocate by these too, and never return NULL for
 * want of memory. Before any other call to them. (xalloc_libs.c) */
void xalloc_libraries(void);

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
/* Like realloc for an array; dies on overflow of count * size. */
void *xreallocarray(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t size);
void *xmemdup(const void *bytes, size_t size);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
