/* token_writer.h - tokens on their way to files
 *
 * They are written to DIR.part, which becomes DIR when all of them are complete: so no training
 * reads a part of the data.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKEN_WRITER_H
#define MUSTER_TOKEN_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "data/token_file.h"

struct token_writer {
    const char       *dir;
    char             *part;   /* DIR.part */
    uint64_t          most;   /* tokens in one file */
    struct token_file file;   /* the current one */
    int               fd;     /* -1: none */
    int               files;  /* that were begun */
    uint64_t          tokens; /* in all of them */
};

/* words: of the tokenizer. -1 with err, also if dir is there and not empty. What an interrupted run
 * left in DIR.part is removed. Call token_writer_close() also after a failure. */
int  token_writer_open(struct token_writer *writer, const char *dir, int words, uint64_t most,
                       bool has_marks, struct error *err);
int  token_writer_add(struct token_writer *writer, const int32_t *tokens, size_t count,
                      struct error *err);
/* The same for the tokens of one document, which are in one file; only if it is longer than a
 * file may be, in several. */
int  token_writer_add_document(struct token_writer *writer, const int32_t *tokens, size_t count,
                               struct error *err);
/* Writes the last file and gives the directory its name. */
int  token_writer_finish(struct token_writer *writer, struct error *err);
/* Removes the files, if they have not been finished. */
void token_writer_close(struct token_writer *writer);

#endif
