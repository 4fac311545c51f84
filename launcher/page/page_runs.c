/* page_runs.c - see page_runs.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "page/page_runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add(struct page_runs *runs, const char *value);
static void flush(struct page_runs *runs);

void page_runs_letter(struct page_runs *runs, char letter)
{
    const char value[] = { letter, '\0' };

    add(runs, value);
}

void page_runs_number(struct page_runs *runs, int64_t number)
{
    char value[sizeof runs->last];

    snprintf(value, sizeof value, "%" PRId64, number);
    add(runs, value);
}

static void add(struct page_runs *runs, const char *value)
{
    if (runs->count > 0 && strcmp(runs->last, value) != 0)
        flush(runs);
    if (runs->count++ == 0)
        snprintf(runs->last, sizeof runs->last, "%s", value);
}

static void flush(struct page_runs *runs)
{
    char times[24] = "";

    buffer_add_text(&runs->text, runs->text.size > 0 ? "," : "\"");
    buffer_add_text(&runs->text, runs->last);
    if (runs->count > 1)
        snprintf(times, sizeof times, "*%zu", runs->count);
    buffer_add_text(&runs->text, times);
    runs->count = 0;
}

char *page_runs_end(struct page_runs *runs)
{
    char *made;

    if (runs->count > 0)
        flush(runs);
    else
        buffer_add_text(&runs->text, "\"");
    buffer_add(&runs->text, "\"", 2); /* with the end of the string */
    made = runs->text.bytes;
    *runs = (struct page_runs){ 0 };
    return made;
}
