/* event.c - see event.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hook/event.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "frame.h"
#include "options/options.h"
#include "sanitize.h"
#include "strlist.h"
#include "xalloc.h"

#define TIME_SIZE 32

static json_t *time_words(time_t at);
static void    add_once(struct strlist *names, const char *name);

json_t *event_make(const struct event_about *about, const char *event, json_t *own,
                   const char *text)
{
    char   *whole = xasprintf("%s (%s): %s", about->name != NULL ? about->name : about->run_id,
                              about->script, text);
    json_t *made = json_pack("{s:s, s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:o}", "event", event,
                             "run_id", about->run_id, "time", time_words(about->at), "host",
                             event_string(about->host, EVENT_TEXT_MAX), "script",
                             event_string(about->script, EVENT_TEXT_MAX), "generation",
                             about->generation, "nodes", about->nodes, "world_size",
                             about->world_size, "text", event_string(whole, EVENT_TEXT_MAX));

    free(whole);
    if (made == NULL)
        xalloc_die();
    if (about->name != NULL)
        json_object_set_new(made, "name", event_string(about->name, EVENT_TEXT_MAX));
    if (own != NULL && json_object_update(made, own) < 0)
        xalloc_die();
    json_decref(own);
    return made;
}

static json_t *time_words(time_t at)
{
    char      text[TIME_SIZE];
    struct tm utc;

    if (gmtime_r(&at, &utc) == NULL || strftime(text, sizeof text, "%FT%TZ", &utc) == 0)
        return json_null();
    return json_string(text);
}

json_t *event_string(const char *text, size_t max)
{
    struct buffer safe = { 0 };
    size_t        length = strlen(text), line;
    bool          is_cut = length > max;
    const char   *end = text + (is_cut ? max : length);
    json_t       *made;

    while (is_cut && end > text && ((unsigned char)*end & 0xc0) == 0x80)
        end--; /* not within a character */
    for (; text < end; text += line) {
        line = strcspn(text, "\n");
        line = line < (size_t)(end - text) ? line : (size_t)(end - text);
        sanitize_add(&safe, text, line, SANITIZE_ALL);
        if (line < (size_t)(end - text)) {
            buffer_add_text(&safe, "\n");
            line++;
        }
    }
    buffer_add_text(&safe, is_cut ? "..." : "");
    made = json_text(safe.bytes != NULL ? safe.bytes : "", safe.size);
    buffer_clear(&safe);
    return made;
}

char *event_script(const struct options *options)
{
    struct strlist names = { 0 };
    struct buffer  text = { 0 };
    size_t         i;

    if (options->script != NULL)
        add_once(&names, options->script);
    for (i = 0; i < options->roles; i++)
        if (options->role[i].script != NULL)
            add_once(&names, options->role[i].script);
    for (i = 0; i < names.count; i++) {
        buffer_add_text(&text, i > 0 ? ", " : "");
        buffer_add_text(&text, names.item[i]);
    }
    buffer_add(&text, "", 1);
    strlist_clear(&names);
    return text.bytes;
}

static void add_once(struct strlist *names, const char *name)
{
    size_t i;

    for (i = 0; i < names->count; i++)
        if (strcmp(names->item[i], name) == 0)
            return;
    strlist_add(names, name);
}
