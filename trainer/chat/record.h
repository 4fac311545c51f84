/* record.h - one record of a data set, as people have them: a text or a conversation
 *
 * The first of these forms whose keys a record has says what it is. Other keys (ids, sources) are
 * ignored, and a key with null counts as missing.
 *
 *     messages                      [{role, content}], OpenAI's; content also as text parts
 *     conversations                 [{from, value}], ShareGPT's; system may be a key beside it
 *     instruction, input, output    alpaca's; also with system, and history [[user, assistant]]
 *     prompt, completion            two strings, or two lists of messages, as TRL has them
 *     question, answer              two strings, as GSM8K has them
 *     text
 *
 * With a chat template all but text become turns. Without one the strings are parts of a text:
 * alpaca's in the words of Stanford's prompt, others one after the other; messages are refused.
 *
 * Assistant turns are trained on, except those with "weight": 0 (OpenAI), "train": false
 * (axolotl), and those of a prompt. Of a text, all is. Tool calls and images are refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECORD_H
#define MUSTER_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "err.h"

#define RECORD_TURNS_MAX 10000

enum chat_role {
    ROLE_SYSTEM,
    ROLE_USER,
    ROLE_ASSISTANT,
    ROLES,
};

/* Bytes that belong to something else. They are valid UTF-8 and may contain NUL. */
struct span {
    const char *at;
    size_t      size;
};

struct turn {
    enum chat_role role;
    struct span    text;
    struct span    reasoning; /* reasoning_content, for templates that write it; at NULL: none */
    bool           is_trained;
};

struct record {
    struct turn *turn;
    size_t       turns, room;
    bool         is_plain; /* the turns are parts of one text, and no template is applied */
    json_t      *value;    /* the record; turns point into it */
    json_t      *made;     /* a list of the strings that were put together for it */
};

/* Reads one JSON object of size bytes. -1 with the reason in err, without file and line: which
 * key, of which type, and what was expected; record is empty then. Clear it before the next one.
 */
int  record_parse(struct record *record, const char *text, size_t size, bool has_template,
                  struct error *err);
void record_clear(struct record *record);

/* Adds a turn, for a conversation that has no file; copies the text. Start from { 0 }. */
void record_add(struct record *record, enum chat_role role, const char *text, size_t size);

const char *chat_role_name(enum chat_role role);

#endif
