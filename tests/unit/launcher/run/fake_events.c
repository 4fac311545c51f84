/* fake_events.c - see fake_events.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "fake_events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "run/events.h"

char last_event[200];

void events_tell(struct run *run, const char *event, json_t *own, const char *format, ...)
{
    char   *keys = own != NULL ? json_dumps(own, JSON_COMPACT) : NULL;
    char    text[100];
    va_list words;

    (void)run;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    snprintf(last_event, sizeof last_event, "%s %s %s", event, text, keys != NULL ? keys : "");
    free(keys);
    json_decref(own);
}
