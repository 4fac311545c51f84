/* evidence_list.c - see evidence_list.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/evidence_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frame.h"
#include "xalloc.h"

static struct evidence_item *find(const struct evidence_list *list,
                                  const struct evidence      *evidence);
static void                  count_again(struct evidence_item *item, bool is_echo);
static void                  write_time(char time_text[EVIDENCE_TIME_SIZE]);
static json_t               *json_of(const struct evidence_item *item);

void evidence_list_clear(struct evidence_list *list)
{
    free(list->item);
    *list = (struct evidence_list){ 0 };
}

void evidence_list_add(struct evidence_list *list, const struct evidence *evidence,
                       const char *text)
{
    size_t                most = EVIDENCE_LIST_MAX;
    struct evidence_item *item = find(list, evidence);

    if (evidence->severity < EVIDENCE_BROKEN)
        most -= EVIDENCE_LIST_SPARE;
    list->is_changed = true;
    if (item != NULL) {
        count_again(item, evidence->is_echo);
        return;
    }
    if (list->count >= most) {
        list->more++;
        return;
    }
    if (list->item == NULL)
        list->item = xcalloc(EVIDENCE_LIST_MAX, sizeof *list->item);
    item = &list->item[list->count++];
    *item = (struct evidence_item){
        .evidence = *evidence, .count = 1, .is_changed = true, .is_echo = evidence->is_echo
    };
    snprintf(item->text, sizeof item->text, "%s", text);
    write_time(item->time);
    list->is_new = true;
}

static struct evidence_item *find(const struct evidence_list *list,
                                  const struct evidence      *evidence)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        if (strcmp(list->item[i].evidence.kind, evidence->kind) == 0 &&
            strcmp(list->item[i].evidence.device, evidence->device) == 0)
            return &list->item[i];
    return NULL;
}

/* The kernel may say the same of one event in two messages, in either order. */
static void count_again(struct evidence_item *item, bool is_echo)
{
    if (is_echo)
        return;
    if (!item->is_echo)
        item->count++;
    item->is_echo = false;
    item->is_changed = true;
}

static void write_time(char time_text[EVIDENCE_TIME_SIZE])
{
    time_t    now = time(NULL);
    struct tm local;

    if (localtime_r(&now, &local) == NULL ||
        strftime(time_text, EVIDENCE_TIME_SIZE, "%Y-%m-%dT%H:%M:%S%z", &local) == 0)
        time_text[0] = '\0';
}

json_t *evidence_list_changed(struct evidence_list *list)
{
    json_t *items = json_array();
    size_t  i;

    for (i = 0; i < list->count; i++) {
        if (list->item[i].is_changed)
            json_array_append_new(items, json_of(&list->item[i]));
        list->item[i].is_changed = false;
    }
    list->is_changed = list->is_new = false;
    return json_pack("{s:o, s:I}", "items", items, "more", (json_int_t)list->more);
}

static json_t *json_of(const struct evidence_item *item)
{
    const struct evidence *evidence = &item->evidence;
    json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:o}", "time", item->time,
                             "kind", evidence->kind, "device", evidence->device, "severity",
                             evidence_severity_name(evidence->severity), "what", evidence->what,
                             "action", evidence->action, "count", (json_int_t)item->count,
                             "text", json_text(item->text, strlen(item->text)));

    if (evidence->pid > 0)
        json_object_set_new(body, "pid", json_integer(evidence->pid));
    return body;
}
