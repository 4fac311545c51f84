/* xalloc_libs.c - libevent and jansson allocate as we do, see xalloc.h
 *
 * Apart from xalloc.c, which programs link that have neither library.
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
