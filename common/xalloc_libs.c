/* xalloc_libs.c - libevent and jansson allocate with xalloc.h, too
 *
 * Separate from xalloc.c, which is also linked into programs without these libraries.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "xalloc.h"

#include <stdlib.h>

#include <event2/event.h>
#include <jansson.h>

void xalloc_libraries(void)
{
    event_set_mem_functions(xmalloc, xrealloc, free);
    json_set_alloc_funcs(xmalloc, free);
}
