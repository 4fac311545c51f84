/* token_names.h - the tokens that a tokenizer_config.json gives a meaning
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKEN_NAMES_H
#define MUSTER_TOKEN_NAMES_H

#include "err.h"

/* Reads the token of this key, as "eos_token", from the tokenizer_config.json beside the tokenizer,
 * which is a tokenizer.json or its directory. The caller frees *token; NULL: there is none, or no
 * such file. -1 with "FILE: reason" in err if the file is broken. */
int token_names_find(const char *tokenizer, const char *key, char **token, struct error *err);

/* Returns the directory of a tokenizer, which may be given as its tokenizer.json; the caller frees
 * it. */
char *token_names_directory(const char *tokenizer);

#endif
