/* crew.h - threads that encode texts together
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CREW_H
#define MUSTER_CREW_H

#include "text/tokenizer.h"

struct crew;

/* As many threads as OpenMP gives (OMP_NUM_THREADS). tokenizer must outlive the crew. */
struct crew *crew_new(const struct tokenizer *tokenizer);
void         crew_free(struct crew *crew); /* NULL is fine */

/* Receives tokens of a text, in their order. -1 with err ends the encoding. */
typedef int crew_take(void *arg, const struct tokens *tokens, struct error *err);

/* Encodes a text of any size, some megabytes at a time: all threads take a part each, and the
 * tokens are those of the whole. how: as for encoder_add(). */
int crew_encode(struct crew *crew, const char *text, size_t size, unsigned how, crew_take *take,
                void *arg, struct error *err);

/* A text of its own, in pieces; how: as for encoder_add_pieces(). */
struct crew_text {
    const struct text_piece *piece;
    int                      pieces;
    unsigned                 how;
};

/* Receives the tokens of text number n, with the pieces in which they begin. */
typedef int crew_take_text(void *arg, int n, const struct tokens *tokens, struct error *err);

/* Encodes texts. On a failure, *failed is the number of the text that could not be encoded or
 * taken; all before it have been taken. */
int crew_encode_all(struct crew *crew, const struct crew_text *texts, int count,
                    crew_take_text *take, void *arg, int *failed, struct error *err);

#endif
