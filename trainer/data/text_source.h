/* text_source.h - the tokens of text and records, by the tokenizer of a training
 *
 * The tokenizer is opened when the data turns out to need it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEXT_SOURCE_H
#define MUSTER_TEXT_SOURCE_H

#include <stdbool.h>

#include "chat/template.h"
#include "data/data.h"
#include "data/record_file.h"

#define TEXT_SOURCE_MAX ((size_t)1 << 28) /* bytes of text from which each rank makes tokens */

struct tokenizer;

struct text_source {
    const char *option;     /* --tokenizer: a file, a directory or "bytes"; NULL: not given */
    const char *template;   /* --chat-template; NULL: not given */
    const char *model;      /* the model's directory; NULL: it has none */
    bool        is_loaded;  /* its weights were loaded */
    bool        is_masked;  /* it predicts masked tokens, not the next one */
    int         vocabulary; /* the model's */

    /* Once a text was encoded: */
    struct tokenizer    *tokenizer; /* NULL: bytes are the tokens */
    char                *path;      /* of the tokenizer, or "bytes" */
    size_t               taken;     /* bytes of text */
    struct chat_template chat;      /* once records were */
    bool                 has_chat;
    struct record_file   records; /* learns_all, bad_max and is_quiet are set from the beginning */
};

/* data_text.encode, with the source as arg. -1 with err if the tokenizer is missing, or has more
 * tokens than the model; if bytes would be nonsense to a model that has learnt other tokens; if the
 * chat template is not known; or if there is more text than TEXT_SOURCE_MAX. */
int  text_source_encode(void *arg, const char *path, int fd, size_t size,
                        struct data_encoded *encoded, struct error *err);
void text_source_clear(struct text_source *source);

#endif
