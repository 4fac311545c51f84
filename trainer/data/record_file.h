/* record_file.h - a file of records in JSON as tokens with marks
 *
 * Each record is a document: a conversation in the words of a chat template, of which the answers
 * are learnt, or a text (chat/).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECORD_FILE_H
#define MUSTER_RECORD_FILE_H

#include "chat/template.h"
#include "text/crew.h"

struct record_file {
    struct crew                *crew;
    const struct chat_template *template; /* its shape NULL: conversations are refused */
    int32_t                     end_id;   /* after a text that no template ends; -1: none */
    bool                        learns_all; /* questions, too */
    int64_t                     bad_max;  /* bad lines, after which reading fails */
    bool                        is_quiet; /* name no bad lines on stderr */
    int64_t                     records, bad; /* counted */
};

/* Receives the tokens of one record, with their marks (token_file.h). -1 with err ends the
 * reading. */
typedef int record_take(void *arg, const int32_t *tokens, size_t count, struct error *err);

/* Gives the tokens of all records to take, in their order. -1 with "PATH:LINE: reason" in err. */
int record_file_read(struct record_file *file, const char *path, record_take *take, void *arg,
                     struct error *err);

/* Finds the chat template of a tokenizer (name: the user's choice, or NULL), and the token that
 * ends a text, -1 if none is known or the post-processor adds it. path: a tokenizer.json, or its
 * directory. -1 with err; clear the template in either case. */
int chat_of_tokenizer(const struct tokenizer *tokenizer, const char *path, const char *name,
                      struct chat_template *template, int32_t *end_id, struct error *err);

#endif
