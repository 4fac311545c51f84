/* memory.c - see memory.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/memory.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"

#define STATUS_MAX 65536 /* bytes; the file usually has about 1500 */

static double number_behind(const char *text, const char *name);

struct memory memory_in_use(void)
{
    struct memory memory = { 0 };
    size_t        size;
    char         *text = file_read_at_once("/proc/self/status", STATUS_MAX, &size, NULL);

    if (text != NULL) {
        memory.now = number_behind(text, "\nVmRSS:") / 1024;
        memory.most = number_behind(text, "\nVmHWM:") / 1024;
    }
    free(text);
    return memory;
}

static double number_behind(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    return found != NULL ? strtod(found + strlen(name), NULL) : 0;
}
