/* slow_list.c - see slow_list.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/slow_list.h"

#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "sanitize.h"
#include "xalloc.h"

#define LINES_MAX 16 /* of the report */
#define MINUTE_S  60.0

static const char *text_in(const json_t *item, const char *key);

void slow_list_add(json_t *list, const char *host, int generation, const char *reason,
                   double since)
{
    if (json_array_size(list) >= SLOW_LIST_MAX)
        json_array_remove(list, 0);
    json_array_append_new(list, json_pack("{s:o, s:i, s:o, s:f, s:n}", "node",
                                          json_text(host, strlen(host)), "generation", generation,
                                          "reason", json_text(reason, strlen(reason)), "since",
                                          since, "until"));
}

void slow_list_end(json_t *list, const char *host, double until)
{
    json_t *item;
    size_t  i;

    json_array_foreach(list, i, item) {
        if (strcmp(text_in(item, "node"), host) == 0 &&
            json_is_null(json_object_get(item, "until")))
            json_object_set_new(item, "until", json_real(until));
    }
}

json_t *slow_list_now(const json_t *list)
{
    json_t *now = json_array(), *item;
    size_t  i;

    json_array_foreach(list, i, item) {
        if (json_is_null(json_object_get(item, "until")))
            json_array_append(now, item);
    }
    return now;
}

void slow_list_print(const json_t *list, double now, FILE *out)
{
    const json_t *item, *until;
    size_t        i, count = json_array_size(list);
    double        minutes;
    char         *line, *safe;

    json_array_foreach(list, i, item) {
        if (i == LINES_MAX)
            break;
        until = json_object_get(item, "until");
        minutes = ((json_is_number(until) ? json_number_value(until) : now) -
                   json_number_value(json_object_get(item, "since"))) / MINUTE_S;
        line = xasprintf("%s was slow for %.1f min: %s", text_in(item, "node"),
                         minutes > 0 ? minutes : 0, text_in(item, "reason"));
        safe = sanitize_text(line, strlen(line));
        fprintf(out, "muster: %s\n", safe);
        free(safe);
        free(line);
    }
    if (count > LINES_MAX)
        fprintf(out, "muster: nodes were slow %zu more times: see --json\n", count - LINES_MAX);
}

static const char *text_in(const json_t *item, const char *key)
{
    const char *text = json_string_value(json_object_get(item, key));

    return text != NULL ? text : "";
}
