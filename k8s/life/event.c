/* event.c - see event.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/event.h"

#include <stdio.h>
#include <string.h>

#include "err.h"
#include "life/observed.h"
#include "objects/objects.h"

static bool    is_of_job(const struct job *job, const char *kind, const char *name);
static int64_t time_of(const json_t *document);
static void    keep(char *to, size_t room, const json_t *text);

bool event_take(struct event *event, const struct job *job, int64_t since_s,
                const json_t *document)
{
    const json_t *about = json_object_get(document, "involvedObject");
    const char   *kind = json_string_value(json_object_get(about, "kind"));
    const char   *name = json_string_value(json_object_get(about, "name"));

    if (kind == NULL || name == NULL || !is_of_job(job, kind, name))
        return false;
    *event = (struct event){ .at_s = time_of(document) };
    if (event->at_s < since_s)
        return false;
    event->count = json_integer_value(json_object_get(document, "count"));
    if (event->count < 1)
        event->count = 1;
    keep(event->type, sizeof event->type, json_object_get(document, "type"));
    keep(event->reason, sizeof event->reason, json_object_get(document, "reason"));
    keep(event->message, sizeof event->message, json_object_get(document, "message"));
    snprintf(event->object, sizeof event->object, "%.60s/%.90s", kind, name);
    text_make_harmless(event->object);
    return true;
}

/* Compares names, because an Event has no labels, and its object may be gone. */
static bool is_of_job(const struct job *job, const char *kind, const char *name)
{
    static const char *const suffixes[] = { "-launcher", "-launcher-key", "-worker-keys",
                                            "-hosts", "-metrics" };
    size_t                   length = strlen(job->name), i, digits;

    if (strncmp(name, job->name, length) != 0)
        return false;
    name += length;
    if (name[0] == '\0') /* kinds that are not ours may use that name, too */
        return strcmp(kind, "ConfigMap") == 0 || strcmp(kind, "Service") == 0 ||
               strcmp(kind, "NetworkPolicy") == 0 || strcmp(kind, "PodGroup") == 0 ||
               strcmp(kind, JOB_KIND) == 0;
    for (i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(name, suffixes[i]) == 0)
            return true;
    digits = strncmp(name, "-worker-", 8) == 0 ? strspn(name + 8, "0123456789") : 0;
    return (digits > 0 && name[8 + digits] == '\0') ||
           strncmp(name, "-tensorboard", strlen("-tensorboard")) == 0;
}

static int64_t time_of(const json_t *document)
{
    static const char *const fields[] = { "lastTimestamp", "eventTime", "firstTimestamp" };
    int64_t                  at_s = 0;
    size_t                   i;

    for (i = 0; i < sizeof fields / sizeof fields[0] && at_s == 0; i++)
        at_s = observed_time(json_string_value(json_object_get(document, fields[i])));
    return at_s;
}

static void keep(char *to, size_t room, const json_t *text)
{
    const char *from = json_string_value(text);

    snprintf(to, room, "%s", from != NULL ? from : "");
    to[strcspn(to, "\n")] = '\0';
    text_make_harmless(to);
}
