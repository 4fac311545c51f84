/* token_file.h - a file of tokens (.bin), as the project llm.c has them
 *
 * A header of 256 numbers of 32 bits (a mark, a version, the number of tokens, zeros), then the
 * tokens in 16 or 32 bits each, in the order of bytes of x86-64. llm.c writes the former for GPT-2,
 * the latter for Llama 3 (dev/data/data_common.py). A file with marks is muster's own: it has
 * documents, and says which tokens are trained on.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKEN_FILE_H
#define MUSTER_TOKEN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define TOKEN_FILE_HEADER 1024 /* bytes */
#define TOKEN_FILE_MAX    ((uint64_t)INT32_MAX) /* tokens in one file */
#define TOKEN_FILE_SMALL  65536 /* a vocabulary of at most so many tokens fits into 16 bits */

/* Marks of a token in a file that has them. */
#define TOKEN_BEGINS (INT32_C(1) << 29) /* the first one of a document */
#define TOKEN_MUTED  (INT32_C(1) << 28) /* read, but not learnt: of a question */
#define TOKEN_ID     (TOKEN_MUTED - 1)

struct token_file {
    int      width; /* bytes of a token: 2 or 4 */
    bool     has_marks;
    uint64_t tokens;
};

/* Looks at the header of an open file of size bytes. -1 with the reason in err, without the
 * file's name; so for the others. */
int token_file_look(int fd, uint64_t size, struct token_file *file, struct error *err);

int token_file_read(int fd, const struct token_file *file, uint64_t first, int count,
                    int32_t *tokens, struct error *err);

/* Writes the header; the tokens may be there already. */
int token_file_begin(int fd, const struct token_file *file, struct error *err);
/* Writes tokens from number first on. */
int token_file_write(int fd, const struct token_file *file, uint64_t first,
                     const int32_t *tokens, int count, struct error *err);

#endif
