/* event_queue.c - see event_queue.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hook/event_queue.h"

#include <string.h>

static json_t *remove_first(struct event_queue *queue);
static void    drop_first(struct event_queue *queue);

void event_queue_put(struct event_queue *queue, json_t *event)
{
    if (queue->count == EVENT_QUEUE_MOST)
        drop_first(queue);
    queue->item[queue->count++] = event;
}

json_t *event_queue_take(struct event_queue *queue)
{
    json_t *event;

    if (queue->count == 0)
        return NULL;
    event = remove_first(queue);
    if (queue->dropped > 0)
        json_object_set_new(event, "dropped", json_integer(queue->dropped));
    queue->dropped = 0;
    return event;
}

void event_queue_missed(struct event_queue *queue, const json_t *event)
{
    queue->dropped += 1 + (unsigned)json_integer_value(json_object_get(event, "dropped"));
}

void event_queue_keep_last(struct event_queue *queue)
{
    while (queue->count > 1)
        drop_first(queue);
}

void event_queue_clear(struct event_queue *queue)
{
    while (queue->count > 0)
        drop_first(queue);
    queue->dropped = 0;
}

static void drop_first(struct event_queue *queue)
{
    json_decref(remove_first(queue));
    queue->dropped++;
    queue->lost++;
}

static json_t *remove_first(struct event_queue *queue)
{
    json_t *first = queue->item[0];

    queue->count--;
    memmove(queue->item, queue->item + 1, queue->count * sizeof *queue->item);
    return first;
}
