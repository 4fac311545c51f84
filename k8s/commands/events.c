/* events.c - muster k8s events: the cluster's Events about the objects of a job
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "life/event.h"
#include "commands/query.h"
#include "commands/show.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

#define PAGE 500

struct event_list {
    struct event *item;
    size_t        count;
};

static int  read_events(struct event_list *events, const struct query *query,
                        const struct job *job, int64_t since_s, struct error *err);
static void take_page(struct event_list *events, const struct job *job, int64_t since_s,
                      const json_t *page);
static int  by_time(const void *one, const void *other);
static void print_events(const struct event_list *events, int64_t now_s);

int command_events(const struct subcommand *self, char *const *argv)
{
    struct query      query;
    struct job        job = { 0 };
    struct observed   observed = { 0 };
    struct event_list events = { 0 };
    struct error      err;
    int               status = query_begin(&query, self, argv, 0, 1, 1);

    if (status != 0)
        return status;
    if (query_find(&query, &job, &observed, &err) < 0 ||
        read_events(&events, &query, &job, observed.created_s, &err) < 0) {
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else
        print_events(&events, api_now(query.place.api));
    free(events.item);
    observed_clear(&observed);
    job_clear(&job);
    query_end(&query);
    return status;
}

/* Reads all pages, and keeps only Events about the job. */
static int read_events(struct event_list *events, const struct query *query,
                       const struct job *job, int64_t since_s, struct error *err)
{
    char   *path, *more = xstrdup("");
    json_t *reply = NULL;
    int     status;

    do {
        path = xasprintf("/api/v1/namespaces/%s/events?limit=%d%s%s", query->place.space, PAGE,
                         more[0] != '\0' ? "&continue=" : "", more);
        status = api_request(query->place.api, "GET", path, NULL, &reply, err);
        free(path);
        free(more);
        if (status < 0)
            return -1;
        take_page(events, job, since_s, reply);
        more = xstrdup(api_list_continue(reply));
        json_decref(reply);
    } while (more[0] != '\0');
    free(more);
    if (events->count > 1)
        qsort(events->item, events->count, sizeof *events->item, by_time);
    return 0;
}

static void take_page(struct event_list *events, const struct job *job, int64_t since_s,
                      const json_t *page)
{
    struct event event;
    json_t      *document;
    size_t       i;

    json_array_foreach(json_object_get(page, "items"), i, document) {
        if (!event_take(&event, job, since_s, document))
            continue;
        events->item = xreallocarray(events->item, events->count + 1, sizeof *events->item);
        events->item[events->count++] = event;
    }
}

static int by_time(const void *one, const void *other)
{
    int64_t first = ((const struct event *)one)->at_s, second = ((const struct event *)other)->at_s;

    return first < second ? -1 : first > second;
}

static void print_events(const struct event_list *events, int64_t now_s)
{
    const struct event *event;
    char                age[SHOW_BYTES];
    size_t              i;

    if (events->count == 0)
        printf("no events; the cluster keeps them for an hour or so\n");
    else
        printf("%-6s %-8s %-22s %-36s %s\n", "AGE", "TYPE", "REASON", "OBJECT", "MESSAGE");
    for (i = 0; i < events->count; i++) {
        event = &events->item[i];
        show_seconds(now_s - event->at_s, age);
        printf("%-6s %-8s %-22s %-36s %s", age, event->type, event->reason, event->object,
               event->message);
        if (event->count > 1)
            printf(" (%" PRId64 " times)", event->count);
        putchar('\n');
    }
}
