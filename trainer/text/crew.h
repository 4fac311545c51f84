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

/* Encodes a text of any size, some megabytes at a time: all threads take a part each, and the tokens
 * are those of the whole. how: as for encoder_add(). */
int crew_encode(struct crew *crew, const char *text, size_t size, unsigned how, crew_take *take,
                void *arg, struct error *err);

/* Encodes texts of their own. On a failure, failed is the number of the first text that cannot be
 * encoded; all before it have been given to take, which is called once for each. */
int crew_encode_all(struct crew *crew, const struct text_piece *texts, int count, unsigned how,
                    crew_take *take, void *arg, int *failed, struct error *err);

#endif
