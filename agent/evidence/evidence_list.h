/* evidence_list.h - the evidence that a kernel's log has given, counted by kind and device
 *
 * A broken disk may write thousands of messages: only the first of each kind and device is
 * kept, and how many there were.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_EVIDENCE_LIST_H
#define MUSTER_AGENT_EVIDENCE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "evidence/evidence.h"

#define EVIDENCE_LIST_MAX 64   /* others are only counted */
#define EVIDENCE_LIST_SPARE 16 /* of these, for what is broken */
#define EVIDENCE_TEXT_MAX 400  /* bytes of a message that are kept */
#define EVIDENCE_TIME_SIZE 32

struct evidence_item {
    struct evidence evidence;
    char            text[EVIDENCE_TEXT_MAX + 1]; /* the first message */
    char            time[EVIDENCE_TIME_SIZE];    /* when it came: 2026-11-30T14:03:07+0100 */
    long            count;
    bool            is_echo;    /* only by a message that says it once more, so far */
    bool            is_changed; /* since evidence_list_changed() */
};

/* Initialize it as { 0 }. */
struct evidence_list {
    struct evidence_item *item; /* NULL: none was ever added */
    size_t                count;
    long                  more; /* messages of other kinds or devices, which had no room */
    bool                  is_changed; /* any of them, or more */
    bool                  is_new;     /* one was added since evidence_list_changed() */
};

void evidence_list_clear(struct evidence_list *list);

/* Adds what was read in a message that comes now, text. */
void evidence_list_add(struct evidence_list *list, const struct evidence *evidence,
                       const char *text);

/* Returns {"items":[...], "more":N} with the items that have changed since the last call. */
json_t *evidence_list_changed(struct evidence_list *list);

#endif
