/* template.h - a conversation as the text that a model was tuned on
 *
 * Chat templates are programs in Jinja. Those of common models are known here, and give, byte for
 * byte, what apply_chat_template() of transformers gives, with two exceptions:
 * - Llama 3.2's asks for today's date. A training text should not depend on the day on which it
 *   was written, so the date is what Llama 3.1's template has, and what 3.2's has without a clock.
 * - mistral-v3 and mistral-tekken write the system turn before the last turn, and so lose it where
 *   an answer follows. Here it precedes the last turn of the user, as in the prompt for that answer
 *   (and as in Mistral's own tokenizer).
 *
 * A text comes in pieces, to be joined before they are made tokens: a token may reach over the end
 * of a piece. What the assistant says is trained on with the token that ends its turn, not the
 * header before it and no newline after it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHAT_TEMPLATE_H
#define MUSTER_CHAT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "chat/record.h"
#include "err.h"

#define TEMPLATE_NAMES                                                                           \
    "chatml, qwen2, qwen2.5, qwen3, llama3, llama3.1, mistral, mistral-v1, mistral-v3, "         \
    "mistral-tekken, zephyr or none"

struct chat_template {
    const struct template_shape *shape; /* NULL: none */
    char *bos, *eos; /* the tokenizer's own, or NULL: what models with this template have */
    char *system;    /* the same, of the system text of conversations that have none */
};

struct chat_piece {
    const char *text;
    size_t      size;
    bool        is_trained;
};

struct chat_text {
    struct chat_piece *piece;
    size_t             pieces, room;
    bool               is_open; /* no template has ended it: the tokenizer's end of text follows */
};

/* The template of this name; not one of TEMPLATE_NAMES: -1. */
int chat_template_named(struct chat_template *template, const char *name, struct error *err);

/* The template of the tokenizer in directory dir: chat_template.jinja, else the chat_template of
 * tokenizer_config.json. If there is none, or no such file, that is no error: shape is NULL then,
 * as for a model that was not tuned. name: the user's choice instead, or NULL. -1 with the reason
 * in err: a template that is not known, or a file that is not valid. Clear it in either case. */
int  chat_template_read(struct chat_template *template, const char *dir, const char *name,
                        struct error *err);
void chat_template_clear(struct chat_template *template);

const char *chat_template_name(const struct chat_template *template);

/* Writes the record's text into text, which may have an earlier one. wants_answer: ends with the
 * header of the assistant's next turn, and the last turn must be the user's. The pieces point into
 * record and template. -1 if the template cannot write this conversation. */
int  chat_render(const struct chat_template *template, const struct record *record,
                 bool wants_answer, struct chat_text *text, struct error *err);
void chat_text_clear(struct chat_text *text); /* frees the list; the text is empty again */

#endif
