/* xalloc.h - allocation that does not fail
 *
 * If memory runs out, these functions print a message and exit with 70, so the rest of the
 * program has no error paths for allocations. Free with free().
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_XALLOC_H
#define MUSTER_XALLOC_H

#include <stddef.h>

/* Exits as after a failed allocation, for libraries that return NULL. */
void xalloc_die(void) __attribute__((noreturn));

/* Makes libevent and jansson allocate with these functions, too, so that they never return NULL
 * for lack of memory. Call this before any of their functions. (xalloc_libs.c) */
void xalloc_libraries(void);

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
/* Like realloc for an array; exits on overflow of count * size. */
void *xreallocarray(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t size);
void *xmemdup(const void *bytes, size_t size);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
